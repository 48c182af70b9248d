"""Follows kernels whose GPU data is in host RAM: they take it back by themselves."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from .. import wire
from . import inside
from .channel import KernelChannel
from .errors import KernelGone
from .figures import LastMeasured
from .registry import KernelRegistry
from .situation import Situation

EVERY = 3.0
"""Seconds between two questions to a parked kernel that shows no sign of a change."""


class ParkedKernels:
    """Asks them on the control channel, which leaves no trace and answers while a cell runs.

    Args:
        measured: where the answers are kept for later snapshots.
    """

    def __init__(
        self, registry: KernelRegistry, channel: KernelChannel, measured: LastMeasured
    ) -> None:
        self._registry = registry
        self._channel = channel
        self._measured = measured
        self._asked: dict[str, tuple[object, float]] = {}
        """Kernel id to what it looked like when it was last asked, and when (monotonic)."""
        self._asking: dict[str, asyncio.Task[None]] = {}

    def follow(self, snapshot: wire.Snapshot) -> None:
        """Ask those that are due; the answers come later, nobody waits for them."""
        parked = {kernel.id: kernel for kernel in snapshot.kernels if kernel.parked}
        self._asked = {key: asked for key, asked in self._asked.items() if key in parked}
        for kernel in parked.values():
            if kernel.id not in self._asking and self._due(kernel):
                task = asyncio.ensure_future(self._ask(kernel.id, snapshot))
                self._asking[kernel.id] = task
                task.add_done_callback(partial(self._done, kernel.id))

    async def close(self) -> None:
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _due(self, kernel: wire.Kernel) -> bool:
        looks, now = (kernel.state, kernel.last_activity), time.monotonic()
        before = self._asked.get(kernel.id)
        if before is not None and before[0] == looks and now - before[1] < EVERY:
            return False
        self._asked[kernel.id] = looks, now
        return True

    async def _ask(self, kernel_id: str, snapshot: wire.Snapshot) -> None:
        try:
            kernel = await self._registry.get(kernel_id)
        except KernelGone:
            return
        figures = await inside.look_again(self._channel, kernel_id)
        now = Situation.of(snapshot, kernel_id)
        if figures is not None and now is not None:
            self._measured.put(kernel, inside.with_context(figures, now.own))

    def _done(self, kernel_id: str, task: asyncio.Task[None]) -> None:
        del self._asking[kernel_id]
        if not task.cancelled():
            task.result()  # an error is ours; the loop logs it
