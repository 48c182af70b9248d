"""Interrupting, restarting and ending a kernel, and waiting until its memory is really back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

import psutil
from jupyter_core.utils import ensure_async

from .. import wire
from . import processes
from .ending import CLOCK_STEP
from .errors import KernelGone
from .known import KnownKernel
from .registry import KernelRegistry

LOOK = 0.25
"""Seconds between two looks."""

INTERRUPT_LIMIT = 10.0
"""Seconds in which a kernel that listens to interrupts has stopped its cell."""

RETURN_LIMIT = 10.0
"""Seconds that the driver gets to return an ended process's memory."""

_PASSING: frozenset[wire.State] = frozenset({"timeout", "starting"})
"""Without a reading now, but perhaps with one before ``RETURN_LIMIT``."""

PAGE_LIMIT = 30.0
"""Seconds in which a page that may restart a kernel has done it."""

Read = Callable[[], Awaitable[wire.Snapshot]]
"""A fresh reading of the driver."""


class KernelRefused(Exception):
    """The kernel manager could not do it; the text says what happened."""


async def interrupt(registry: KernelRegistry, kernel: KnownKernel) -> bool:
    """Interrupt as the server's own route does; whether the kernel became idle in time.

    Raises:
        KernelGone, KernelRefused
    """
    await _manage(registry, "interrupt_kernel", kernel, "interrupted")
    deadline = time.monotonic() + INTERRUPT_LIMIT
    while time.monotonic() < deadline:
        if (await registry.get(kernel.id)).state == "idle":
            return True
        await asyncio.sleep(LOOK)
    return False


async def restart(registry: KernelRegistry, kernel: KnownKernel) -> None:
    """Restart as the server's own route does: once this returns, the old process was ended.

    Raises:
        KernelGone, KernelRefused
    """
    answered = await _manage(registry, "restart_kernel", kernel, "restarted")
    if isinstance(answered, asyncio.Future):
        # The manager reports a new kernel that doesn't come up by the "dead" state, too; nobody
        # awaits this, so take its error before Python complains that nobody did.
        answered.add_done_callback(lambda done: done.cancelled() or done.exception())


async def restarted(registry: KernelRegistry, kernel: KnownKernel) -> None:
    """Wait until a page has restarted it.

    Raises:
        KernelGone, KernelRefused
    """
    deadline = time.monotonic() + PAGE_LIMIT
    while time.monotonic() < deadline:
        process = (await registry.get(kernel.id)).process
        if process is not None and process != kernel.process:
            return
        await asyncio.sleep(LOOK)
    raise KernelRefused("The page did not restart the kernel: it is the same process as before.")


async def shut_down(registry: KernelRegistry, kernel: KnownKernel) -> None:
    """Shut down as the server's own route does.

    Raises:
        KernelGone, KernelRefused
    """
    await _manage(registry, "shutdown_kernel", kernel, "shut down")


async def _manage(registry: KernelRegistry, method: str, kernel: KnownKernel, done: str) -> object:
    manager = registry.kernel_manager
    try:
        return await ensure_async(getattr(manager, method)(kernel.id))
    except Exception as error:
        # custom managers and provisioners raise what they like
        if kernel.id not in manager:
            raise KernelGone() from error
        raise KernelRefused(f"The kernel could not be {done}: {error}") from error


@dataclass(frozen=True, slots=True)
class Remains:
    """What ended processes still hold."""

    bytes: int | None
    """None where the driver doesn't tell."""
    rows: Sequence[wire.Holder] = ()


class OldProcesses:
    """A kernel's processes, noted before they are ended so that the survivors can be named."""

    def __init__(self, known: dict[int, float | None]) -> None:
        self._known = known

    @classmethod
    async def of(cls, kernel: KnownKernel, holders: Iterable[wire.Holder]) -> OldProcesses:
        """The kernel's process with all descendants, and whatever the driver names as its own."""
        known = {row.pid: row.started_at for row in holders if row.kernel_id == kernel.id}
        if kernel.process is not None:
            for process in await asyncio.to_thread(processes.tree, kernel.process):
                known[process.pid] = _started(process)
        return cls(known)

    def among(self, holders: Iterable[wire.Holder]) -> list[wire.Holder]:
        """Rows of these processes. One that has ended keeps its row until its memory is back."""
        return [row for row in holders if row.pid in self._known and self._same(row)]

    def _same(self, row: wire.Holder) -> bool:
        before = self._known[row.pid]
        if before is None or row.started_at is None:
            return True
        return abs(before - row.started_at) <= CLOCK_STEP

    async def memory_returned(self, read: Read) -> Remains:
        """Wait until the driver shows none of them, at most ``RETURN_LIMIT`` seconds."""
        deadline = time.monotonic() + RETURN_LIMIT
        while True:
            snapshot = await read()
            rows = self.among(snapshot.holders)
            visible = snapshot.state == "ok" and snapshot.views.processes != "none"
            if visible and not rows:
                return Remains(0)
            if time.monotonic() > deadline or not (visible or snapshot.state in _PASSING):
                break
            await asyncio.sleep(LOOK)
        sizes = [row.bytes for row in rows if row.bytes is not None]
        told = visible and len(sizes) == len(rows)
        return Remains(sum(sizes) if told else None, rows)


def _started(process: psutil.Process) -> float | None:
    try:
        return process.create_time()
    except psutil.Error:
        return None
