"""A simulated GPU for notebooks, on computers without one.

Arrays made here take memory as a real GPU's would: through a driver context, a caching allocator
with PyTorch's habits, and a limit that all processes share, with PyTorch's words when it is
reached. They hold no values and compute nothing. What every process holds is in one small file,
the ledger (``VRAM_SIMULATED_LEDGER``), which the simulated driver reads.

>>> from jupyterlab_vram import simulated
>>> x = simulated.empty((1024, 1024, 1024))     # doctest: +SKIP
>>> simulated.memory_allocated() / 2**30        # doctest: +SKIP
4.0

Standard library only, Python 3.8 or later.
"""

from .arrays import Array, Storage, empty, ones, zeros
from .memory import (
    context_size,
    device_count,
    device_uuid,
    empty_cache,
    is_initialized,
    max_memory_allocated,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
)
from .outofmemory import OutOfMemoryError

__all__ = [
    "Array",
    "OutOfMemoryError",
    "Storage",
    "context_size",
    "device_count",
    "device_uuid",
    "empty",
    "empty_cache",
    "is_initialized",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "ones",
    "zeros",
]
