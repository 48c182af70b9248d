"""What kernels told about themselves when they were last asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import psutil

from .. import wire
from .known import KnownKernel

Frameworks = dict[str, wire.FrameworkUse]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Figures from inside one kernel."""

    at: float
    """Seconds since the epoch."""
    frameworks: Frameworks
    releasable: int | None
    """Bytes that releasing all caches returns; None if a framework doesn't tell."""
    devices: dict[str, str]
    """The kernel's own CUDA index to the GPU's uuid."""
    held: dict[str | None, int | None] = field(default_factory=dict)
    """GPU's uuid to the bytes that the frameworks got from its driver; None where one doesn't tell.
    Memory on GPUs whose uuid isn't known is under None."""
    parked: int | None = None
    """Bytes of GPU data that are in host RAM; None if none are."""
    keeps: dict[str, str] = field(default_factory=dict)
    """Framework to why its memory stays with the process."""
    sessions: dict[str, str] = field(default_factory=dict)
    """Framework to what ending its session loses."""


class LastMeasured:
    """The latest figures of each kernel; those of an earlier process of it are forgotten."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[psutil.Process | None, Measured]] = {}

    def put(self, kernel: KnownKernel, measured: Measured) -> None:
        self._known[kernel.id] = kernel.process, measured

    def latest(self, kernel: KnownKernel) -> Measured | None:
        process, measured = self._known.get(kernel.id, (None, None))
        return measured if process == kernel.process else None

    def of(self, kernels: Iterable[KnownKernel]) -> dict[str, Measured]:
        """What is known of these, which must be all kernels that run."""
        running = {kernel.id: kernel.process for kernel in kernels}
        self._known = {
            kernel_id: (process, measured)
            for kernel_id, (process, measured) in self._known.items()
            if kernel_id in running and running[kernel_id] == process
        }
        return {kernel_id: measured for kernel_id, (_, measured) in self._known.items()}


def live(frameworks: Frameworks) -> int | None:
    """In use by all frameworks together; None if there is none or one doesn't tell."""
    return total([use.live for use in frameworks.values()])


def cached(frameworks: Frameworks) -> int | None:
    """Kept for reuse by all frameworks together; None if there is none or one doesn't tell."""
    return total([use.cached for use in frameworks.values()])


def total(parts: Sequence[int | None]) -> int | None:
    """The sum of measured parts; None if there is none or one is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if parts and len(known) == len(parts) else None
