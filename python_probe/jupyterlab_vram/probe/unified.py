"""GPUs that use the computer's RAM."""

from __future__ import annotations

from collections.abc import Iterable

from .. import wire
from . import host
from .reading import GpuProcess


def share_ram(gpu: wire.Gpu, processes: Iterable[GpuProcess]) -> None:
    """Fill in the memory of a GPU that has none of its own, where the driver has no figures.

    In use is what its processes hold, free is what the system can still give.
    """
    total, available = host.ram()
    sizes = [process.bytes for process in processes]
    used = None if None in sizes else sum(size or 0 for size in sizes)
    gpu.memory = wire.Memory(total=total, used=used, free=available, unified=True)
    for path in ("memory.total", "memory.used", "memory.free"):
        gpu.unknown.pop(path, None)
    if used is None:
        gpu.unknown["memory.used"] = "The driver does not say what every process holds."
