"""What plans and runs work with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from . import inside
from .channel import KernelChannel
from .errors import KernelBusy, KernelGone
from .figures import LastMeasured, Measured
from .insight import Insights
from .known import KnownKernel
from .lifecycle import Read
from .registry import KernelRegistry
from .situation import NO_INSIGHT, Insight, Situation

SETTLE = 5
"""Tenths of a second after which a cell still runs, and hasn't just ended: the server learns of the
end a little later than whoever ran it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    registry: KernelRegistry
    channel: KernelChannel
    read: Read
    measured: LastMeasured
    insights: Insights

    async def look(self, kernel: KnownKernel) -> Measured:
        """The kernel's own figures, kept for the next snapshots.

        Raises: as ``inside.look``.
        """
        # one that was asked before would answer while a cell runs
        for _ in range(SETTLE):
            if (await self.registry.get(kernel.id)).state != "busy":
                break
            await asyncio.sleep(0.1)
        else:
            raise KernelBusy()
        figures = await inside.look(self.channel, kernel.id)
        self.measured.put(kernel, figures)
        return figures

    async def situation(
        self,
        kernel: KnownKernel,
        figures: Measured | None = None,
        insight: Insight = NO_INSIGHT,
    ) -> Situation:
        """What it holds now.

        Args:
            figures: measured just before; otherwise the latest are taken.

        Raises:
            KernelGone
        """
        latest = figures or self.measured.latest(kernel)
        now = Situation.of(await self.read(), kernel.id, latest, insight)
        if now is None:
            raise KernelGone()
        return now
