"""What GPUs and kernels held in the last hours, in memory of a fixed size."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable

from .. import __version__, wire

SLOTS = 600
STEPS = (1.0, 6.0, 36.0)
"""Seconds a slot: 10 minutes, 1 hour and 6 hours."""
SPAN = STEPS[-1] * SLOTS
MOST_TRACKS = 128
"""GPUs, and kernels. Kernels come and go; the record of the one seen longest ago gives way."""

Combine = Callable[[float, float, int], float]


def peak(old: float, new: float, _count: int) -> float:
    """For bytes: what runs out is the peak."""
    return max(old, new)


def mean(old: float, new: float, count: int) -> float:
    """For shares of time: ``count`` values are in ``old``."""
    return old + (new - old) / (count + 1)


class Ring:
    """The newest ``SLOTS`` values at one step. Values are doubles: exact for bytes up to 2**53."""

    def __init__(self, step: float, combine: Combine) -> None:
        self.step = step
        self._combine = combine
        self._values = array("d", [math.nan]) * SLOTS
        self._last = -1
        self._count = 0

    def put(self, at: float, value: float, held: float) -> None:
        """Record ``value`` at time ``at``; it also stands for the ``held`` seconds before."""
        slot = int(at // self.step)
        if slot < self._last:
            if (self._last - slot) * self.step <= SPAN:
                return  # The clock was set back; the slots that exist stay as they are.
            # It was far ahead; what was recorded then would hide all that comes now.
            self._values = array("d", [math.nan]) * SLOTS
            self._last = -1
        if slot == self._last:
            here = slot % SLOTS
            if self._count:
                value = self._combine(self._values[here], value, self._count)
            self._values[here] = value
            self._count += 1
            return
        first = int((at - held) // self.step) + 1
        for skipped in range(max(self._last + 1, slot - SLOTS + 1), slot):
            self._values[skipped % SLOTS] = value if skipped >= first else math.nan
        self._values[slot % SLOTS] = value
        self._last, self._count = slot, 1

    def get(self, first: int, count: int) -> list[float | None]:
        """``count`` values from slot ``first`` (``time // step``) on, None where nothing is."""
        end = first + count
        start = min(max(first, self._last - SLOTS + 1), end)
        stop = max(min(end, self._last + 1), start)
        at, size = start % SLOTS, stop - start
        known = self._values[at : at + size]
        known += self._values[: size - len(known)]
        return [
            *[None] * (start - first),
            *[None if value != value else value for value in known],  # NaN alone differs so
            *[None] * (end - stop),
        ]


class Series:
    """One quantity at every step."""

    def __init__(self, combine: Combine = peak) -> None:
        self.rings = tuple(Ring(step, combine) for step in STEPS)
        self._put_at = -math.inf

    def put(self, at: float, value: float | None, every: float) -> None:
        """Record a reading that is one of a row taken each ``every`` seconds."""
        if value is None:
            return
        # Two readings in a row stand for the time between them; after a longer gap nobody knows.
        gap = at - self._put_at
        held = gap if gap <= 2 * every else 0.0
        for ring in self.rings:
            ring.put(at, value, held)
        self._put_at = max(self._put_at, at)


class Track:
    """What is recorded of one GPU, or of one kernel on each of its GPUs."""

    def __init__(self) -> None:
        self.seen_at = -math.inf
        self.bytes: dict[str, Series] = {}
        """By GPU uuid."""
        self.load = Series(mean)


class HistoryRecord:
    """Rings for each GPU (bytes in use, load) and each kernel that ever held memory."""

    def __init__(self) -> None:
        self._gpus: dict[str, Track] = {}
        self._kernels: dict[str, Track] = {}

    def add(self, snapshot: wire.Snapshot, every: float) -> None:
        """Record a snapshot; one without a reading leaves a gap."""
        if snapshot.state != "ok":
            return
        at = snapshot.taken_at
        for gpu in snapshot.gpus:
            track = self._gpus.setdefault(gpu.uuid, Track())
            track.seen_at = at
            track.bytes.setdefault(gpu.uuid, Series()).put(at, gpu.memory.used, every)
            track.load.put(at, gpu.utilization.gpu, every)
        for kernel in snapshot.kernels:
            known = self._kernels.get(kernel.id)
            if known is None and not any(kernel.gpus.values()):
                continue
            known = known or self._kernels.setdefault(kernel.id, Track())
            known.seen_at = at
            for uuid in {*kernel.gpus, *known.bytes}:
                held = kernel.gpus.get(uuid, 0 if kernel.bytes is not None else None)
                known.bytes.setdefault(uuid, Series()).put(at, held, every)
        for tracks in (self._gpus, self._kernels):
            _forget(tracks, at)

    def knows_gpu(self, uuid: str) -> bool:
        return uuid in self._gpus

    def knows_kernel(self, kernel_id: str) -> bool:
        return kernel_id in self._kernels

    def get(
        self,
        now: float,
        *,
        span: float = 600.0,
        start: float | None = None,
        step: float | None = None,
        gpu: str | None = None,
        kernel: str | None = None,
    ) -> wire.History:
        """The record from ``start`` (else ``now - span``) to ``now``, at one of ``STEPS``.

        The finest step that reaches back that far, or no finer than ``step`` where it is given.
        What lies further back than the coarsest step reaches is left out.
        """
        begin = max(now - span if start is None else start, now - SPAN)
        wanted = [n for n, each in enumerate(STEPS) if begin >= now - each * SLOTS]
        ring = wanted[0] if wanted else len(STEPS) - 1
        if step is not None:
            ring = max([ring, *(n for n, each in enumerate(STEPS) if each <= step)])
        size = STEPS[ring]
        last = int(now // size)
        first = max(int(begin // size) + 1, last - SLOTS + 1)
        count = max(last - first + 1, 0)

        def values(series: Series) -> list[float | None]:
            return series.rings[ring].get(first, count)

        answer = wire.History(version=__version__, step=size, from_=first * size)
        if kernel is None:
            for uuid, track in self._gpus.items():
                if gpu in (None, uuid):
                    answer.gpus[uuid] = wire.GpuHistory(
                        used=_whole(values(track.bytes[uuid])), utilization=values(track.load)
                    )
        for kernel_id, track in self._kernels.items():
            if kernel not in (None, kernel_id):
                continue
            for uuid, series in track.bytes.items():
                if gpu not in (None, uuid):
                    continue
                held = _whole(values(series))
                if held.count(None) < count:
                    answer.kernels.setdefault(kernel_id, {})[uuid] = held
        return answer


def _forget(tracks: dict[str, Track], now: float) -> None:
    for key in [key for key, track in tracks.items() if track.seen_at < now - SPAN]:
        del tracks[key]
    while len(tracks) > MOST_TRACKS:
        del tracks[min(tracks, key=lambda key: tracks[key].seen_at)]


def _whole(values: list[float | None]) -> list[int | None]:
    return [None if value is None else int(value) for value in values]
