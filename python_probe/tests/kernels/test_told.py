"""Kernels' own words beside the driver's: what is put in, and what is left alone."""

from __future__ import annotations

import os
from typing import Any

import psutil
import pytest
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.figures import Measured
from jupyterlab_vram.kernels.gains import UNKNOWN, gain
from jupyterlab_vram.kernels.known import KnownKernel
from jupyterlab_vram.kernels.situation import Situation
from jupyterlab_vram.kernels.snapshot import build_snapshot
from jupyterlab_vram.probe.reading import Reading

GIB = 1 << 30
CARD = "GPU-51000000-0000-4000-8000-000000000001"
OTHER = "GPU-51000000-0000-4000-8000-000000000002"
SLICE = "MIG-51000000-0000-4000-8000-00000000000a"
HIDDEN = wire.Views(processes="none", sizes="none", reason="hidden")


@pytest.fixture
def kernel() -> KnownKernel:
    process = psutil.Process(os.getpid())
    return KnownKernel(id="k", name="python3", process=process, started_at=1.0, state="idle")


def gpu(uuid: str = CARD, used: int = 8 * GIB, parent: str | None = None) -> wire.Gpu:
    memory = wire.Memory(total=24 * GIB, used=used)
    return wire.Gpu(uuid=uuid, index=0, name="a card", memory=memory, parent=parent)


def holder(size: int | None, **more: Any) -> wire.Holder:
    known = {"gpu": CARD, "pid": 7, "kind": "kernel", "kernel_id": "k", "role": "main"}
    source = None if size is None else "driver"
    return wire.Holder(**{**known, **more}, bytes=size, bytes_from=source)


def told(held: dict[str | None, int | None]) -> dict[str, Measured]:
    return {"k": Measured(at=1.0, frameworks={}, releasable=None, devices={}, held=held)}


def look(
    kernel: KnownKernel,
    held: dict[str | None, int | None],
    *holders: wire.Holder,
    gpus: tuple[wire.Gpu, ...] = (),
    views: wire.Views = HIDDEN,
) -> wire.Snapshot:
    reading = Reading(taken_at=2.0, source="nvml", state="ok", views=views, gpus=gpus or (gpu(),))
    snapshot = build_snapshot(reading, [kernel], holders, measured=told(held))
    for each in snapshot.gpus:
        rows = [row.bytes or 0 for row in snapshot.holders if row.gpu == each.uuid]
        rest = [row.bytes for row in snapshot.unattributed if row.gpu == each.uuid]
        if each.uuid not in {one.parent for one in snapshot.gpus}:
            assert sum(rows) + sum(rest) == each.memory.used
    return snapshot


def test_an_unlisted_kernel_gets_a_row(kernel: KnownKernel) -> None:
    snapshot = look(kernel, {CARD: 3 * GIB})
    [row] = snapshot.holders
    assert (row.pid, row.bytes, row.bytes_from, row.role) == (
        os.getpid(),
        3 * GIB,
        "kernel",
        "main",
    )
    assert (snapshot.kernels[0].bytes, snapshot.kernels[0].gpus) == (3 * GIB, {CARD: 3 * GIB})


def test_the_drivers_size_stays(kernel: KnownKernel) -> None:
    [row] = look(kernel, {CARD: 3 * GIB}, holder(5 * GIB), views=wire.Views()).holders
    assert (row.bytes, row.bytes_from) == (5 * GIB, "driver")


def test_a_kernel_that_the_driver_would_list_holds_nothing(kernel: KnownKernel) -> None:
    snapshot = look(kernel, {CARD: 3 * GIB}, views=wire.Views())
    assert (snapshot.holders, snapshot.kernels[0].bytes) == ([], 0)


def test_the_kernels_own_process_gets_the_size_and_not_its_worker(kernel: KnownKernel) -> None:
    views = wire.Views(sizes="none", reason="no sizes")
    rows = (holder(None), holder(None, pid=8, role="worker"))
    snapshot = look(kernel, {CARD: 3 * GIB}, *rows, views=views)
    assert [row.bytes for row in snapshot.holders] == [3 * GIB, None]
    assert snapshot.kernels[0].bytes is None, "the worker's is not known"


def test_of_several_processes_without_a_main_one_none_gets_it(kernel: KnownKernel) -> None:
    views = wire.Views(sizes="none", reason="no sizes")
    rows = (holder(None, role="command"), holder(None, pid=8, role="command"))
    snapshot = look(kernel, {CARD: 3 * GIB}, *rows, views=views)
    assert [row.bytes for row in snapshot.holders] == [None, None]


def test_cudas_number_names_a_slice_and_never_the_card_it_is_cut_from(
    kernel: KnownKernel,
) -> None:
    gpus = (gpu(), gpu(SLICE, parent=CARD))
    [row] = look(kernel, {SLICE.replace("MIG-", "GPU-"): GIB}, gpus=gpus).holders
    assert (row.gpu, row.bytes) == (SLICE, GIB)
    assert look(kernel, {CARD: GIB}, gpus=gpus).holders == []


def test_memory_without_a_uuid_is_the_only_gpus(kernel: KnownKernel) -> None:
    assert [row.gpu for row in look(kernel, {None: GIB}).holders] == [CARD]
    assert look(kernel, {None: GIB}, gpus=(gpu(), gpu(OTHER))).holders == []


@pytest.mark.parametrize("held", [{}, {CARD: None}, {CARD: 0}, {"GPU-of-another-host": GIB}])
def test_what_is_not_told_stays_unknown(
    kernel: KnownKernel, held: dict[str | None, int | None]
) -> None:
    snapshot = look(kernel, held)
    assert (snapshot.holders, snapshot.kernels[0].bytes) == ([], None)


def test_more_than_is_in_use_is_said_to_be(kernel: KnownKernel) -> None:
    reading = Reading(taken_at=2.0, source="nvml", state="ok", views=HIDDEN, gpus=(gpu(),))
    snapshot = build_snapshot(reading, [kernel], [], measured=told({CARD: 9 * GIB}))
    [rest] = snapshot.unattributed
    assert rest.bytes == 0 and "add up to more" in rest.reason


def test_a_stranger_beside_a_listed_kernel_is_still_counted(kernel: KnownKernel) -> None:
    views = wire.Views(processes="namespace", sizes="some")
    stranger = holder(2 * GIB, pid=9, kind="unseen", kernel_id=None, role="unknown")
    snapshot = look(kernel, {CARD: 3 * GIB}, holder(None), stranger, views=views)
    assert [row.bytes for row in snapshot.holders] == [3 * GIB, 2 * GIB]


def test_plans_do_not_take_the_kernels_word_for_the_drivers(kernel: KnownKernel) -> None:
    now = Situation.of(look(kernel, {CARD: 3 * GIB}), "k")
    assert now is not None
    assert (now.kernel.bytes, now.by_driver, now.own) == (3 * GIB, None, None)
    # the context, which it can't tell, comes back as well
    assert gain(now, "restart") == UNKNOWN
    now = Situation.of(look(kernel, {}, holder(5 * GIB), views=wire.Views()), "k")
    assert now is not None
    assert (now.by_driver, now.own) == (5 * GIB, 5 * GIB)
