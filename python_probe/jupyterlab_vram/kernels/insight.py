"""Looking at an idle kernel's objects: who holds the memory, and what could be parked."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from .answers import ParkCheck, Scan, Unanswered
from .channel import KernelChannel
from .figures import Measured
from .known import KnownKernel
from .processes import printable
from .situation import NO_INSIGHT, Insight

FRESH = 10.0
"""Seconds in which a plan that is opened again shows the same, if the kernel did nothing since."""

_MOST = 50
"""Kernels of which it is kept."""


@dataclass(frozen=True, slots=True)
class _Kept:
    process: psutil.Process | None
    activity: float | None
    at: float
    """By the monotonic clock."""
    insight: Insight


class Insights:
    """The latest of each kernel, for as long as nothing runs in it."""

    def __init__(self, channel: KernelChannel) -> None:
        self._channel = channel
        self._kept: dict[str, _Kept] = {}

    async def of(self, kernel: KnownKernel, figures: Measured) -> Insight:
        """Looks anew unless it did a moment ago.

        Args:
            figures: just measured; the kernel is idle.
        """
        if not figures.frameworks or figures.parked:
            return NO_INSIGHT
        kept = self._current(kernel)
        if kept is not None and time.monotonic() - kept.at < FRESH:
            return kept.insight
        scan = await self._channel.scan(kernel.id)
        park = await self._channel.park_check(kernel.id)
        insight = _insight(scan, park)
        if insight.why_none is None:
            self._kept[kernel.id] = _Kept(
                kernel.process, kernel.last_activity, time.monotonic(), insight
            )
            while len(self._kept) > _MOST:
                del self._kept[next(iter(self._kept))]
        return insight

    def last(self, kernel: KnownKernel) -> Insight:
        """What was found last, if nothing ran since then; of whatever age."""
        kept = self._current(kernel)
        return NO_INSIGHT if kept is None else kept.insight

    def forget(self, kernel_id: str) -> None:
        """What the kernel holds has changed, or it has ended."""
        self._kept.pop(kernel_id, None)

    def _current(self, kernel: KnownKernel) -> _Kept | None:
        kept = self._kept.get(kernel.id)
        if kept is None or (kept.process, kept.activity) != (kernel.process, kernel.last_activity):
            self.forget(kernel.id)
            return None
        return kept


def _insight(scan: Scan | Unanswered, park: ParkCheck | Unanswered) -> Insight:
    found = scan if isinstance(scan, Scan) and scan.ok else None
    check = park if isinstance(park, ParkCheck) and (park.ok or park.refused) else None
    texts = [
        printable(answer.text or "The kernel did not say why.", 300)
        for answer, understood in ((scan, found), (park, check))
        if understood is None
    ]
    why = None
    if texts:
        why = f"What holds the memory could not be found out: {texts[0]}"
    return Insight(scan=found, park=check, why_none=why)
