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


class Array:
    """Takes ``nbytes`` on a simulated GPU until nothing refers to it any more."""

    def __init__(self, shape: tuple[int, ...], dtype: str, device: int) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        """Index of the GPU, as this process counts."""
        self.nbytes = math.prod(shape) * ITEM_SIZES[dtype]
        if self.nbytes:
            block = memory.allocate(self.nbytes, device)
            # Not __del__: it would run when half of the interpreter is gone. And not at exit
            # either: the end of the process returns everything.
            weakref.finalize(self, memory.dropper(device), block).atexit = False

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
    return Array(sizes, dtype, device)


zeros = ones = empty
"""There are no values, so that all three are the same; they take the same memory."""
