"""Asks kernels for their own figures where the driver tells too little, while somebody looks."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

import psutil

from .. import wire
from . import inside
from .answers import Figures, Installed, NoAgent
from .channel import KernelChannel
from .errors import KernelGone
from .figures import LastMeasured
from .known import KnownKernel
from .registry import KernelRegistry

EVERY = 5.0
"""Seconds between two questions to one kernel."""

EVERY_BUSY = 15.0
"""The same while a cell runs: each answer takes some milliseconds from it."""

QUIET = 2.0
"""Seconds for which a kernel was idle before the agent is put into it: between the cells of a
notebook that runs as a whole it is idle, too."""

MayHold = Callable[[int], bool]
"""Whether a process or one of its children may hold GPU memory; looks at the system, so it runs in
a thread."""

_log = logging.getLogger(__name__)


class Asking:
    """Questions to one server's kernels. Belongs to its event loop, which never waits for one.

    Answers appear in later snapshots, through ``measured``; where a kernel gives none, the last
    one stays there with its age. A kernel that has no agent gets it while it is idle, once a
    process; one that has it is asked also while it is busy, by a message that needs no place in its
    queue.
    """

    def __init__(
        self,
        registry: KernelRegistry,
        channel: KernelChannel,
        measured: LastMeasured,
        may_hold: MayHold,
    ) -> None:
        self._registry = registry
        self._channel = channel
        self._measured = measured
        self._may_hold = may_hold
        self._asked_at: dict[str, float] = {}
        self._tried: dict[str, psutil.Process | None] = {}
        """Kernels that can't have the agent, or have got it: there is no second attempt."""
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def look(self, snapshot: wire.Snapshot) -> None:
        """Ask those kernels in ``snapshot`` of which the driver hides the size and whose turn it
        is. Returns at once."""
        running = {kernel.id for kernel in snapshot.kernels}
        self._asked_at = {key: at for key, at in self._asked_at.items() if key in running}
        self._tried = {key: process for key, process in self._tried.items() if key in running}
        now = time.monotonic()
        for kernel in snapshot.kernels:
            every = EVERY_BUSY if kernel.state == "busy" else EVERY
            due = now - self._asked_at.get(kernel.id, -every) >= every
            if due and kernel.id not in self._under_way and is_hidden(snapshot, kernel):
                self._asked_at[kernel.id] = now
                task = asyncio.get_running_loop().create_task(self._ask(kernel.id))
                self._under_way[kernel.id] = task
                task.add_done_callback(partial(self._done, kernel.id))

    async def close(self) -> None:
        """Ends all questions that are under way."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, kernel_id: str, task: asyncio.Task[None]) -> None:
        del self._under_way[kernel_id]
        if not task.cancelled() and task.exception() is not None:
            _log.error("A kernel could not be asked for its memory.", exc_info=task.exception())

    async def _ask(self, kernel_id: str) -> None:
        try:
            kernel = await self._registry.get(kernel_id)
        except KernelGone:
            return
        if kernel.pid is None or not await asyncio.to_thread(self._may_hold, kernel.pid):
            return
        figures = await self._channel.figures(kernel_id)
        if isinstance(figures, NoAgent) and figures.possible and await self._install(kernel):
            figures = await self._channel.figures(kernel_id)
        if isinstance(figures, Figures):
            self._measured.put(kernel, inside.told(figures))

    async def _install(self, kernel: KnownKernel) -> bool:
        if self._tried.get(kernel.id) == kernel.process or not _is_quiet(kernel):
            return False
        installed = await self._channel.install(kernel.id)
        if isinstance(installed, (Installed, NoAgent)):
            self._tried[kernel.id] = kernel.process
        return isinstance(installed, Installed)


def is_hidden(snapshot: wire.Snapshot, kernel: wire.Kernel) -> bool:
    """Whether the kernel may hold GPU memory whose size the driver does not tell here."""
    hides = snapshot.views.processes != "all" or snapshot.views.sizes != "all"
    if snapshot.state != "ok" or not hides or kernel.host is not None:
        return False
    rows = [row for row in snapshot.holders if row.kernel_id == kernel.id and row.kind == "kernel"]
    return kernel.bytes is None or any(row.bytes_from == "kernel" for row in rows)


def _is_quiet(kernel: KnownKernel) -> bool:
    since = kernel.last_activity
    return kernel.state == "idle" and since is not None and time.time() - since >= QUIET
