"""What can be done about one kernel's memory, gentle to drastic, with gain and cost."""

from __future__ import annotations

from collections.abc import Sequence

from .. import __version__, wire
from ..format import gib
from .answers import Row, Scan
from .costs import loses
from .figures import cached, live, total
from .gains import expected, gain, row_gain
from .offers import PlanState, Rules, listed, why_not
from .processes import printable
from .situation import Situation

_MOST_ROWS = 200
_LABEL, _KIND = 200, 60
"""Characters of what a kernel may name its things that are worth showing."""
_MOST_NAME = 1000
_MOST_AXES = 16
_MOST_ALSO = 3

_WHERE = frozenset(
    {
        "variable",
        "output",
        "exception",
        "module",
        "closure",
        "frame",
        "thread",
        "generator",
        "framework",
    }
)


def make_plan(
    now: Situation,
    state: PlanState,
    text: str | None,
    *,
    rules: Rules | None = None,
    park_ticked: bool = False,
) -> wire.Plan:
    """The plan; only what loses nothing is ticked.

    Args:
        park_ticked: tick parking, too, if everything can move.
    """
    rules = rules or Rules()
    remedies = [_remedy(id_, now, state, rules) for id_ in listed(now, state)]
    ticked = {"collect", "release-cache"} | ({"park"} if park_ticked and _moves_all(now) else set())
    for remedy in remedies:
        remedy.default = remedy.offered and remedy.id in ticked
    defaults = [wire.RunStep(id=remedy.id) for remedy in remedies if remedy.default]
    freed = (expected(now, defaults) or 0) if defaults else 0
    held = now.kernel.bytes
    scan = now.insight.scan
    return wire.Plan(
        version=__version__,
        kernel_id=now.kernel.id,
        state=state,
        measured_at=now.kernel.asked_at,
        bytes=held,
        gpus=now.kernel.gpus,
        frameworks=now.frameworks,
        holders_in_kernel=_rows(now, scan.rows) if scan else [],
        scan=_extent(scan) if scan else None,
        park=_park(now),
        children=[child(row) for row in now.others],
        variables=scan.variables if scan else None,
        models=scan.models if scan else None,
        pools=sorted(now.keeps),
        remedies=remedies,
        remains=wire.Remains(
            bytes=None if held is None else max(0, held - freed), why=why_remains(now, freed)
        ),
        text=text,
    )


def why_remains(now: Situation, freed: int = 0) -> str | None:
    """Who has what stays, in one sentence; None if nobody knows.

    Args:
        freed: bytes that will be gone by then, first of the caches.
    """
    parts = []
    in_use, kept = live(now.frameworks), cached(now.frameworks)
    if in_use is not None:
        in_use = max(0, in_use - max(0, freed - (kept or 0)))
    if in_use:
        parts.append(f"{gib(in_use)} is in use by the notebook")
    if kept is not None and kept > freed:
        parts.append(f"{gib(kept - freed)} is kept for reuse")
    context = _context(now)
    if context:
        parts.append(
            f"{gib(context)} is the driver's own share: only ending the process returns it"
        )
    others = total([row.bytes for row in now.others])
    if others:
        parts.append(f"{gib(others)} is held by processes that the kernel started")
    sentences = ["; ".join(parts) + "."] if parts else []
    sentences += [now.keeps[name] for name in sorted(now.keeps)]
    return " ".join(sentences) or None


def child(row: wire.Holder) -> wire.Survivor:
    """A process that the kernel started."""
    return wire.Survivor(
        pid=row.pid, started_at=row.started_at, name=row.name, gpu=row.gpu, bytes=row.bytes
    )


def _context(now: Situation) -> int | None:
    in_use, kept = live(now.frameworks), cached(now.frameworks)
    if in_use is None or kept is None or now.own is None:
        return None
    return max(0, now.own - in_use - kept)


def _remedy(remedy: wire.RemedyId, now: Situation, state: PlanState, rules: Rules) -> wire.Remedy:
    found = gain(now, remedy)
    reason = why_not(now, state, remedy, rules)
    return wire.Remedy(
        id=remedy,
        gain=found.bytes,
        gain_is=found.is_,
        loses=loses(now, remedy, busy=state in ("busy", "silent")),
        offered=reason is None,
        why_not=reason,
    )


def _moves_all(now: Situation) -> bool:
    check = now.insight.park
    return check is not None and not check.stays_bytes and (check.differs or 0) <= 0.05


def _extent(scan: Scan) -> wire.ScanExtent:
    return wire.ScanExtent(objects=scan.objects, complete=scan.complete, found=scan.found)


def _park(now: Situation) -> wire.ParkPlan | None:
    check = now.insight.park
    if check is None or check.bytes is None:
        return None
    return wire.ParkPlan(
        bytes=check.bytes,
        count=max(0, check.count),
        stays=_rows(now, check.stays),
        stays_bytes=check.stays_bytes,
        host_free=check.host_free,
        host_left=_share(check.host_left),
        differs=_share(check.differs),
    )


def _rows(now: Situation, rows: Sequence[Row]) -> list[wire.HolderInKernel]:
    """Cut to what is sensible: a kernel may answer anything."""
    devices = now.kernel.devices if now.inside is None else now.inside.devices
    return [
        wire.HolderInKernel(
            label=printable(row.label, _LABEL),
            where=row.where if row.where in _WHERE else "unknown",
            kind=printable(row.kind, _KIND),
            bytes=row.bytes,
            gpu=devices.get(str(row.device)),
            shape=None if row.shape is None else row.shape[:_MOST_AXES],
            dtype=None if row.dtype is None else printable(row.dtype, _KIND),
            count=row.count,
            name=_name(row.name),
            gain=row_gain(now, row),
            also=[printable(name, _LABEL) for name in row.also[:_MOST_ALSO]],
        )
        for row in rows[:_MOST_ROWS]
    ]


def _name(name: str | None) -> str | None:
    """None for one that a request could not carry back."""
    return name if name is not None and printable(name, _MOST_NAME) == name else None


def _share(value: float | None) -> float | None:
    finite = wire.finite(value)
    return None if finite is None else min(1.0, max(0.0, finite))
