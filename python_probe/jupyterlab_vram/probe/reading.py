"""What one look at the driver yields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from .. import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process in the driver's lists, merged by (gpu, pid); nothing of it is checked against /proc."""

    gpu: str
    """uuid"""
    pid: int
    """As the driver names it; in a container it may belong to another namespace."""
    bytes: int | None
    type: str
    """``C``, ``G`` or ``C+G``."""
    name: str | None = None
    sm: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Driver facts at one moment. With a ``state`` other than ``ok`` the lists are empty."""

    taken_at: float
    source: wire.Source
    state: wire.State
    problem: wire.Problem | None = None
    views: wire.Views = field(default_factory=wire.Views)
    driver: wire.Driver = field(default_factory=wire.Driver)
    gpus: tuple[wire.Gpu, ...] = ()
    processes: tuple[GpuProcess, ...] = ()


class Probe(Protocol):
    """Reads the driver. Every call blocks, so only the driver thread makes it."""

    source: wire.Source

    def read(self) -> Reading:
        """Never raises for what a driver may do: every failure becomes a ``state`` with words."""

    def close(self) -> None: ...
