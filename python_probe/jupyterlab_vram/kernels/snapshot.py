"""From the driver's facts and the kernels to the message that everybody reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import psutil

from .. import __version__, wire
from ..probe.reading import Reading
from .figures import Measured
from .known import KnownKernel
from .told import sees_all_kernels, with_kernels_word


def build_snapshot(
    reading: Reading,
    kernels: Sequence[KnownKernel],
    holders: Sequence[wire.Holder],
    *,
    measured: Mapping[str, Measured] | None = None,
    show_other_users: bool = False,
) -> wire.Snapshot:
    """Put together what ``Attributor.holders`` found in ``reading`` for ``kernels``.

    Args:
        measured: the latest figures from inside kernels, by kernel id.
        show_other_users: name other users' processes instead of only counting their memory.
    """
    rows = with_kernels_word(reading, kernels, holders, measured or {})
    if not show_other_users:
        rows = [_without_name(row) for row in rows]
    return wire.Snapshot(
        version=__version__,
        taken_at=reading.taken_at,
        source=reading.source,
        state=reading.state,
        problem=reading.problem,
        views=reading.views,
        driver=reading.driver,
        gpus=list(reading.gpus),
        holders=rows,
        kernels=_kernels(reading, kernels, rows, measured or {}),
        unattributed=unattributed(reading, rows),
    )


def unattributed(reading: Reading, holders: Iterable[wire.Holder]) -> list[wire.Unattributed]:
    """For each GPU what is in use and nobody's: used = the holders' sum + this.

    Where the processes' figures add up to more than is in use, which drivers do report while
    memory changes hands, it is zero and the reason says so. A card that is cut into slices has
    none of its own: its processes are counted on the slices.
    """
    known: dict[str, int] = defaultdict(int)
    unsized: dict[str, int] = defaultdict(int)
    for holder in holders:
        if holder.bytes is None:
            unsized[holder.gpu] += 1
        else:
            known[holder.gpu] += holder.bytes
    cards = {gpu.parent for gpu in reading.gpus}
    rows = []
    for gpu in reading.gpus:
        used = gpu.memory.used
        if used is None or gpu.uuid in cards:
            continue
        rest = used - known[gpu.uuid]
        if rest < 0:
            reason = "The processes' figures add up to more than the GPU reports to be in use."
            rows.append(wire.Unattributed(gpu=gpu.uuid, bytes=0, reason=reason))
        elif rest > 0:
            reason = _why_unattributed(reading, unsized[gpu.uuid])
            rows.append(wire.Unattributed(gpu=gpu.uuid, bytes=rest, reason=reason))
    return rows


def _why_unattributed(reading: Reading, unsized: int) -> str:
    if reading.doubt:
        return reading.doubt
    if unsized:
        return "The driver names processes here without their sizes."
    if reading.views.processes != "all":
        return reading.views.reason or "The driver doesn't show all processes here."
    return "The driver itself, or processes that it doesn't name."


def _kernels(
    reading: Reading,
    kernels: Sequence[KnownKernel],
    holders: Sequence[wire.Holder],
    measured: Mapping[str, Measured],
) -> list[wire.Kernel]:
    held: dict[str, list[wire.Holder]] = defaultdict(list)
    for holder in holders:
        if holder.kind == "kernel" and holder.kernel_id is not None:
            held[holder.kernel_id].append(holder)
    complete = sees_all_kernels(reading, holders)
    return [
        _kernel(kernel, held[kernel.id], measured.get(kernel.id), complete) for kernel in kernels
    ]


def _kernel(
    kernel: KnownKernel,
    held: Sequence[wire.Holder],
    measured: Measured | None,
    complete: bool,
) -> wire.Kernel:
    gpus: dict[str, int | None] = {}
    for holder in held:
        before = gpus.get(holder.gpu, 0)
        gpus[holder.gpu] = None if before is None or holder.bytes is None else before + holder.bytes
    is_here = kernel.process is not None and kernel.host is None
    total: int | None = 0 if complete and is_here else None
    if gpus:
        sizes = list(gpus.values())
        total = None if None in sizes else sum(size for size in sizes if size is not None)
    return wire.Kernel(
        id=kernel.id,
        name=kernel.name,
        language=kernel.language,
        notebook=kernel.notebook,
        sessions=list(kernel.sessions),
        state=kernel.state,
        last_activity=kernel.last_activity,
        connections=kernel.connections,
        host=kernel.host,
        pids=_pids(kernel.process, held),
        bytes=total,
        gpus=gpus,
        parked=measured.parked if measured else None,
        place=kernel.place,
        devices=measured.devices if measured else {},
        frameworks=measured.frameworks if measured else {},
        asked_at=measured.at if measured else None,
    )


def _pids(process: psutil.Process | None, held: Sequence[wire.Holder]) -> list[int]:
    own = [process.pid] if process is not None else []
    return list(dict.fromkeys([*own, *(holder.pid for holder in held)]))


def _without_name(holder: wire.Holder) -> wire.Holder:
    if holder.kind != "other-user":
        return holder
    return wire.Holder(
        gpu=holder.gpu,
        pid=holder.pid,
        started_at=holder.started_at,
        bytes=holder.bytes,
        bytes_from=holder.bytes_from,
        type=holder.type,
        kind=holder.kind,
        engines=holder.engines,
        evidence=holder.evidence,
    )
