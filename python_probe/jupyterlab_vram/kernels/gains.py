"""What each remedy returns to the GPU, as far as that can be known before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .. import wire
from .answers import Row
from .figures import cached, live, total
from .situation import Situation

ENDS_PROCESS: frozenset[wire.RemedyId] = frozenset({"restart", "shutdown"})

DROPS: frozenset[wire.RemedyId] = frozenset(
    {"unpin-exceptions", "unpin-outputs", "delete", "clear-session"}
)
"""Remedies that let something go, then collect the garbage and release the caches."""

_ROUNDING = 2 << 20
"""Bytes of the smallest segment: so much may always stay behind."""


@dataclass(frozen=True, slots=True)
class Gain:
    bytes: int | None = None
    """None = unknown."""
    is_: Literal["exact", "at-most", "unknown"] = "unknown"


UNKNOWN = Gain()


def gain(now: Situation, remedy: wire.RemedyId) -> Gain:
    """Alone, and beside what releasing the caches returns."""
    if remedy == "release-cache":
        kept = cached(now.frameworks)
        if now.releasable is not None:
            return Gain(now.releasable, "exact")
        return UNKNOWN if kept is None else Gain(kept, "at-most")
    if remedy == "park":
        return _park(now)
    if remedy == "restore":
        return Gain(0, "exact")
    if remedy == "clear-session":
        # nothing comes back from a pool; what else a session holds isn't known before
        pools = bool(now.sessions) and now.sessions.keys() <= now.keeps.keys()
        return Gain(0, "exact") if pools else UNKNOWN
    if remedy == "end-children":
        return _sum(row.bytes for row in now.others)
    if remedy in ENDS_PROCESS:
        held = now.by_driver
        # children may outlive their kernel
        return UNKNOWN if held is None else Gain(held, "at-most" if now.others else "exact")
    if remedy == "delete":
        # the person chooses which
        found = _scanned(now, remedy)
        return Gain(found.bytes, "at-most") if found.bytes else found
    return _scanned(now, remedy)


def expected(now: Situation, steps: Sequence[wire.RunStep]) -> int | None:
    """Bytes that these steps together are known to return; what can't be known is left out."""
    ids = {step.id for step in steps}
    if ids & ENDS_PROCESS:
        return now.by_driver
    parts: list[int | None] = []
    if ids & {"release-cache", "park"} or ids & DROPS:
        parts.append(gain(now, "release-cache").bytes)
        if "park" in ids:
            parts.append(gain(now, "park").bytes)  # whatever the other steps would have dropped
        else:
            parts += [gain(now, id_).bytes for id_ in ids & (DROPS - {"delete"})]
            parts += [_deleted(now, step.names or ()) for step in steps if step.id == "delete"]
            if "collect" in ids or ids & DROPS:
                parts.append(gain(now, "collect").bytes)
    elif "collect" in ids:
        parts.append(0)  # it goes to the frameworks' caches
    for step in steps:
        if step.id == "end-children":
            chosen = [row.bytes for row in now.others if row.pid in (step.pids or ())]
            parts.append(total(chosen))
    known = [part for part in parts if part is not None]
    if not known:
        return None
    held = now.kernel.bytes
    return sum(known) if held is None else min(sum(known), held)


def _park(now: Situation) -> Gain:
    check = now.insight.park
    if check is None or check.bytes is None:
        return UNKNOWN
    whole = not check.stays_bytes and not check.differs and not check.refused
    in_use, stuck = live(now.frameworks), now.stuck
    if whole and in_use is not None and stuck is not None:
        # nothing is left that would keep a segment from being returned
        return Gain(in_use + stuck, "exact")
    return Gain(check.bytes, "at-most")


def _scanned(now: Situation, remedy: wire.RemedyId) -> Gain:
    scan = now.insight.scan
    found = scan.gains.get(remedy) if scan else None
    if found is None or found.bytes is None or found.is_ == "unknown":
        return UNKNOWN
    if now.keeps and now.frameworks.keys() <= now.keeps.keys():
        return Gain(0, "exact")  # it only becomes free within their pools
    # some of it may go to a pool, or share a segment with what stays
    doubtful = bool(now.keeps) or now.stuck is None or now.stuck > _ROUNDING
    if found.bytes and found.is_ == "exact" and doubtful:
        return Gain(found.bytes, "at-most")
    return Gain(found.bytes, found.is_)


def row_gain(now: Situation, row: Row) -> int | None:
    """Bytes that deleting the variable that holds ``row`` returns."""
    return 0 if row.gain is not None and row.framework in now.keeps else row.gain


def _deleted(now: Situation, names: Iterable[str]) -> int | None:
    scan = now.insight.scan
    if scan is None:
        return None
    gains = {row.name: row_gain(now, row) for row in scan.rows if row.name is not None}
    return total([gains.get(name) for name in set(names)])


def _sum(parts: Iterable[int | None]) -> Gain:
    bytes_ = total(list(parts))
    return UNKNOWN if bytes_ is None else Gain(bytes_, "exact")
