"""A stand-in for CuPy, whose real one needs a real card. See README."""

import math

from . import cuda

_SIZES = {"uint8": 1, "float32": 4, "float64": 8}
_default_memory_pool = cuda.MemoryPool()
_default_pinned_memory_pool = cuda.PinnedMemoryPool()
cuda.set_allocator(_default_memory_pool.malloc)


def get_default_memory_pool():
    return _default_memory_pool


def get_default_pinned_memory_pool():
    return _default_pinned_memory_pool


class ndarray:
    def __init__(self, shape, dtype="float64", memptr=None):
        self._shape, self._dtype = tuple(shape), dtype
        self._data = memptr or cuda.alloc(self.nbytes)

    @property
    def data(self):
        return self._data

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def nbytes(self):
        return math.prod(self._shape) * _SIZES[self._dtype]

    def view(self):
        return ndarray(self._shape, self._dtype, self._data)


def empty(shape, dtype="float64"):
    return ndarray((shape,) if isinstance(shape, int) else shape, dtype)
