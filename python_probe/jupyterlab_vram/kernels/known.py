"""What is known about kernels, apart from the server that knows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import psutil

from .. import wire


class KnownKernel(msgspec.Struct, frozen=True, kw_only=True):
    """A running kernel. A Struct, because one is made of each at every reading."""

    id: str
    name: str
    """The kernelspec's name."""
    language: str | None = None
    process: psutil.Process | None = None
    """What the server started, which may be a wrapper around the kernel's own Python. None while
    it starts, and for kernels on other computers. Two of these are equal only if both the number
    and the start time are."""
    started_at: float | None = None
    host: str | None = None
    place: str | None = None
    """The GPU's uuid that it was restricted to, or ``cpu``; see ``place.py``."""
    state: wire.KernelState = "unknown"
    last_activity: float | None = None
    connections: int | None = None
    sessions: tuple[wire.KernelSession, ...] = ()

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process is not None else None

    @property
    def notebook(self) -> str | None:
        return notebook_of(self.sessions)


def notebook_of(sessions: Iterable[wire.KernelSession]) -> str | None:
    """Path of what they belong to; of several sessions a notebook's before a console's."""
    ranked = sorted(sessions, key=lambda session: session.type != "notebook")
    return ranked[0].path if ranked else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedKernel:
    """A kernel's earlier process: the kernel was shut down, restarted or died."""

    id: str
    process: psutil.Process
    notebook: str | None
    ended_at: float
    """When that was noticed, in seconds since the epoch."""
