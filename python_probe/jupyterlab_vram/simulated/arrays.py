"""Arrays on the simulated GPU: they take memory there as real ones would, and hold no values."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence

from . import memory
from .outofmemory import format_size

ITEM_SIZES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "int64": 8,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}
"""Bytes an item, by the name of its type."""


class Storage:
    """Takes ``nbytes`` on a simulated GPU until nothing refers to it any more, or is resized."""

    def __init__(self, nbytes: int, device: int) -> None:
        self.device = device
        """Index of the GPU, as this process counts."""
        self._free: weakref.finalize[..., Storage] | None = None
        self.nbytes = 0
        self.allocated = 0
        """Bytes of the allocator's block, which may be larger."""
        self.resize_(nbytes)

    def resize_(self, nbytes: int) -> None:
        """Give the memory back and take ``nbytes`` anew, for all arrays on it at once.

        Raises:
            OutOfMemoryError: There is no room; then it keeps what it has.
        """
        block = memory.allocate(nbytes, self.device) if nbytes else None
        if self._free is not None:
            self._free()
            self._free = None
        self.nbytes = nbytes
        self.allocated = 0 if block is None else block.nbytes
        if block is not None:
            # Not __del__: it would run when half of the interpreter is gone. And not at exit
            # either: the end of the process returns everything.
            self._free = weakref.finalize(self, memory.dropper(self.device), block)
            self._free.atexit = False


class Array:
    """Takes memory on a simulated GPU, together with the views of it."""

    def __init__(self, shape: tuple[int, ...], dtype: str, storage: Storage) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = storage.device
        """Index of the GPU, as this process counts."""
        self.nbytes = math.prod(shape) * ITEM_SIZES[dtype]
        self.storage = storage

    def view(self) -> Array:
        """Another array on the same memory."""
        return Array(self.shape, self.dtype, self.storage)

    def __repr__(self) -> str:
        return (
            f"<simulated array, no values: shape={self.shape}, dtype={self.dtype}, "
            f"device={self.device}, {format_size(self.nbytes)}>"
        )


def empty(shape: int | Sequence[int], dtype: str = "float32", device: int = 0) -> Array:
    """An array without values.

    Args:
        shape: Items along each axis, or along the only one.
        dtype: A name in ``ITEM_SIZES``.
        device: Index of the simulated GPU.

    Raises:
        OutOfMemoryError: With PyTorch's text.
        IndexError: This process sees no such GPU.
        TypeError, ValueError: A type or a shape that doesn't exist.
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"An array can't have a negative number of items: {sizes}.")
    if dtype not in ITEM_SIZES:
        raise TypeError(f"{dtype!r} is no type of an array; one of {', '.join(ITEM_SIZES)} is.")
    # Out of memory, this leaves no half-made array in the traceback for others to find.
    return Array(sizes, dtype, Storage(math.prod(sizes) * ITEM_SIZES[dtype], device))


zeros = ones = empty
"""There are no values, so that all three are the same; they take the same memory."""
