"""The driver's process lists: merged, checked for what can't be, and described for the reader."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from .. import wire
from . import host
from .reading import GpuProcess

MOST_PID = 2**22 if sys.platform == "linux" else 2**31
"""No pid is larger; Linux's own limit (PID_MAX_LIMIT) holds whatever ``pid_max`` is set to."""

IN_USE = 1 << 30
"""Bytes in use from which an empty process list can't be the whole truth."""


def merge(
    gpu: str,
    compute: Iterable[tuple[int, int | None]],
    graphics: Iterable[tuple[int, int | None]],
) -> list[GpuProcess]:
    """One row a pid from (pid, bytes) pairs: the larger figure, never the sum.

    Zero bytes for a process that the driver lists is no measurement: inside containers some drivers
    write that for every process. It becomes None.
    """
    rows: dict[int, tuple[int | None, str]] = {}
    for kind, listed in (("C", compute), ("G", graphics)):
        for pid, size in listed:
            known, before = rows.get(pid, (None, kind))
            sizes = [value for value in (known, size) if value]
            rows[pid] = (max(sizes, default=None), kind if before == kind else "C+G")
    return [
        GpuProcess(gpu=gpu, pid=pid, bytes=size, type=kind) for pid, (size, kind) in rows.items()
    ]


def implausible(processes: Sequence[GpuProcess], total: int | None) -> str | None:
    """What can't be true about one GPU's list, as the end of a sentence; None if all can be.

    Known to happen: fields swapped or read with a wrong stride by a library of another version
    than the driver (then pids are byte counts, or 0), and placeholders for pids that the driver
    could not translate.
    """
    for process in processes:
        if not 0 < process.pid <= MOST_PID:
            return f"it names a process {process.pid}, which can't exist"
        if total and process.bytes and process.bytes > total:
            return f"process {process.pid} would hold more than the whole GPU"
    held = sum(process.bytes or 0 for process in processes)
    if total and held > total:
        return "its processes together would hold more than the whole GPU"
    return None


def views(
    gpus: Sequence[wire.Gpu], processes: Sequence[GpuProcess], doubt: str | None
) -> wire.Views:
    """What these lists let us see, with the reason where that is not everything.

    ``doubt`` is a sentence on lists that were refused or left out.
    """
    sized = sum(process.bytes is not None for process in processes)
    sizes = "all" if sized == len(processes) else "some" if sized else "none"
    listed = {process.gpu for process in processes}
    sliced = {gpu.parent for gpu in gpus}
    unlisted = any(
        gpu.uuid not in listed | sliced and (gpu.memory.used or 0) > IN_USE for gpu in gpus
    )
    if not processes and (doubt or unlisted):
        return wire.Views(processes="none", sizes="none", reason=doubt or _nothing_listed())
    inside = host.in_pid_namespace()
    return wire.Views(
        processes="namespace" if inside else "all",
        sizes=sizes,  # type: ignore[arg-type]  # mypy takes the conditional for str
        reason=doubt
        or (None if sizes == "all" else _no_sizes())
        or ("This container can't see who uses the rest of the GPU." if inside else None),
    )


def _nothing_listed() -> str:
    if host.is_wsl():
        return "WSL does not report which processes use the GPU."
    if host.in_pid_namespace():
        return "This container can't see who uses the GPU."
    return "GPU memory is in use, but the driver names no process here."


def _no_sizes() -> str:
    if sys.platform == "win32" or host.is_wsl():
        return "Windows does not report GPU memory per process."
    return "The driver does not report the GPU memory of every process."
