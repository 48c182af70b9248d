"""What one look at the driver yields."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from .. import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process in the driver's lists, merged by (gpu, pid). Nothing is checked against /proc."""

    gpu: str
    """uuid"""
    pid: int
    """As the driver names it; in a container it may belong to another namespace."""
    bytes: int | None
    type: str
    """``C``, ``G`` or ``C+G``."""
    name: str | None = None
    """As nvidia-smi names it. NVML isn't asked: that is one more call for each process."""


class Trouble(NamedTuple):
    """Why there is no reading."""

    state: wire.State
    problem: wire.Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Driver facts at one moment. With a ``state`` other than ``ok`` the lists are empty.

    A card that is cut into MIG slices is listed, and so is each slice with its ``parent``. The
    card's memory figures include its slices'; processes are listed with the slice alone.
    """

    taken_at: float
    source: wire.Source
    state: wire.State
    problem: wire.Problem | None = None
    views: wire.Views = field(default_factory=wire.Views)
    driver: wire.Driver = field(default_factory=wire.Driver)
    gpus: tuple[wire.Gpu, ...] = ()
    processes: tuple[GpuProcess, ...] = ()
    doubt: str | None = None
    """Why the driver's process list can't be right and was left out; a sentence."""

    @classmethod
    def without(cls, source: wire.Source, trouble: Trouble) -> Reading:
        """No reading, and why."""
        return cls(
            taken_at=time.time(), source=source, state=trouble.state, problem=trouble.problem
        )


class Probe(Protocol):
    """Reads the driver. Every call blocks, so only the driver thread makes it."""

    @property
    def source(self) -> wire.Source: ...

    def read(self) -> Reading:
        """Never raises for what a driver may do: every failure becomes a ``state`` with words."""

    def close(self) -> None:
        """Let go of the driver. A later :meth:`read` takes hold of it again."""
