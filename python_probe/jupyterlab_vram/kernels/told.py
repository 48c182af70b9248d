"""Kernels' own figures where the driver names no process, or no size.

What a kernel says is never put in place of the driver's word, and never added to it: a GPU's
holders must not count the same memory twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from .. import wire
from ..probe.reading import Reading
from .figures import Measured
from .known import KnownKernel

_TELLS = "The kernel itself says how much it holds; the driver doesn't."
_SAME = (
    "The driver names a process of another container. It may be one of the kernels here that say "
    "themselves how much they hold, so it isn't counted again."
)


def sees_all_kernels(reading: Reading, holders: Sequence[wire.Holder]) -> bool:
    """Whether a kernel that the driver doesn't name holds nothing.

    In a container the driver may name this container's processes or nobody; one that is named and
    was found here shows which.
    """
    if reading.state != "ok" or reading.doubt:
        return False
    if reading.views.processes == "namespace":
        return any(holder.kind != "unseen" for holder in holders)
    return reading.views.processes == "all"


def with_kernels_word(
    reading: Reading,
    kernels: Sequence[KnownKernel],
    holders: Sequence[wire.Holder],
    measured: Mapping[str, Measured],
) -> list[wire.Holder]:
    """``holders`` with what kernels say of themselves where the driver doesn't tell.

    Args:
        measured: the latest figures from inside kernels, by kernel id.
    """
    complete = sees_all_kernels(reading, holders)
    rows = list(holders)
    added: set[str] = set()
    for kernel in kernels:
        if kernel.process is None or kernel.id not in measured or reading.state != "ok":
            continue
        for gpu, size in _held(reading.gpus, measured[kernel.id]):
            own = [
                number
                for number, row in enumerate(rows)
                if row.kernel_id == kernel.id and row.gpu == gpu and row.kind == "kernel"
            ]
            unsized = [number for number in own if rows[number].bytes is None]
            main = [number for number in unsized if rows[number].role == "main"] or unsized
            if len(main) == 1:
                rows[main[0]] = _changed(rows[main[0]], size)
            elif not own and not complete and size > 0:
                rows.append(_row(kernel, gpu, size))
                added.add(gpu)
    return [
        _uncounted(row) if row.kind == "unseen" and row.gpu in added and row.bytes else row
        for row in rows
    ]


def _held(gpus: Sequence[wire.Gpu], measured: Measured) -> Iterator[tuple[str, int]]:
    """The GPU's uuid as the driver has it, and the bytes that the kernel says it holds there."""
    cards = {gpu.parent for gpu in gpus}
    usable = [gpu.uuid for gpu in gpus if gpu.uuid not in cards]
    for told, size in measured.held.items():
        if size is None:
            continue
        if told is None:
            # Frameworks that can't name the GPU use the only one there is.
            found = usable if len(usable) == 1 else []
        else:
            found = [uuid for uuid in usable if _bare(uuid) == _bare(told)]
        if len(found) == 1:
            yield found[0], size


def _bare(uuid: str) -> str:
    """Without ``GPU-`` or ``MIG-``: CUDA has one number for both."""
    return uuid.removeprefix("GPU-").removeprefix("MIG-").lower()


def _changed(row: wire.Holder, size: int) -> wire.Holder:
    return msgspec.structs.replace(row, bytes=size, bytes_from="kernel")


def _uncounted(row: wire.Holder) -> wire.Holder:
    return msgspec.structs.replace(row, bytes=None, bytes_from=None, evidence=_SAME)


def _row(kernel: KnownKernel, gpu: str, size: int) -> wire.Holder:
    assert kernel.process is not None
    return wire.Holder(
        gpu=gpu,
        pid=kernel.process.pid,
        started_at=kernel.started_at,
        bytes=size,
        bytes_from="kernel",
        kind="kernel",
        role="main",
        kernel_id=kernel.id,
        notebook=kernel.notebook,
        evidence=_TELLS,
    )
