"""For each GPU: used = the holders' sum + unattributed."""

from __future__ import annotations

import time
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.attribution import Attributor
from jupyterlab_vram.kernels.snapshot import build_snapshot
from jupyterlab_vram.probe.reading import GpuProcess, Reading

sizes = st.one_of(st.none(), st.integers(min_value=0, max_value=1 << 40))
gpus = st.lists(sizes, min_size=1, max_size=4)
rows = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(1, 1 << 22)),
    st.tuples(sizes, st.sampled_from(["C", "G", "C+G", "?"])),
    max_size=8,
)
views = st.builds(
    wire.Views,
    processes=st.sampled_from(["all", "namespace", "none"]),
    sizes=st.sampled_from(["all", "some", "none"]),
    reason=st.one_of(st.none(), st.just("Because.")),
)


@given(
    gpus, rows, views, st.one_of(st.none(), st.just("The list is wrong.")), st.sampled_from([0, 1])
)
def test_nothing_is_lost_or_counted_twice(
    used: list[int | None],
    held: dict[tuple[int, int], tuple[int | None, str]],
    seen: wire.Views,
    doubt: str | None,
    opens: int,
) -> None:
    reading = Reading(
        taken_at=time.time(),
        source="nvml",
        state="ok",
        views=seen,
        doubt=doubt,
        gpus=tuple(
            wire.Gpu(uuid=f"GPU-{i}", index=i, name="x", memory=wire.Memory(used=size))
            for i, size in enumerate(used)
        ),
        processes=tuple(
            GpuProcess(gpu=f"GPU-{gpu}", pid=pid, bytes=size, type=kind)
            for (gpu, pid), (size, kind) in held.items()
            if gpu < len(used)
        ),
    )
    holders = Attributor(lambda pid: bool(opens)).holders(reading.processes, [])
    snapshot = build_snapshot(reading, [], holders)
    assert len(snapshot.holders) == len(reading.processes)
    sums: dict[str, int] = defaultdict(int)
    for holder in snapshot.holders:
        sums[holder.gpu] += holder.bytes or 0
    rest = {row.gpu: row for row in snapshot.unattributed}
    for gpu in snapshot.gpus:
        if gpu.memory.used is None:
            assert gpu.uuid not in rest
            continue
        left = rest[gpu.uuid].bytes if gpu.uuid in rest else 0
        if sums[gpu.uuid] > gpu.memory.used:
            assert left == 0
            assert "more than" in rest[gpu.uuid].reason
        else:
            assert gpu.memory.used == sums[gpu.uuid] + left
            assert gpu.uuid not in rest or (left > 0 and rest[gpu.uuid].reason)
    assert wire.encode(snapshot)


def test_a_card_that_is_cut_into_slices_counts_on_its_slices() -> None:
    card = wire.Gpu(uuid="GPU-0", index=0, name="x", memory=wire.Memory(used=10))
    piece = wire.Gpu(uuid="MIG-0", index=0, name="x", parent="GPU-0", memory=wire.Memory(used=8))
    reading = Reading(taken_at=0.0, source="nvml", state="ok", gpus=(card, piece))
    rows = build_snapshot(reading, [], []).unattributed
    assert [(row.gpu, row.bytes) for row in rows] == [("MIG-0", 8)]


def test_other_users_are_only_counted() -> None:
    gpu = wire.Gpu(uuid="GPU-0", index=0, name="x", memory=wire.Memory(used=10))
    reading = Reading(taken_at=0.0, source="nvml", state="ok", gpus=(gpu,))
    row = wire.Holder(gpu="GPU-0", pid=7, bytes=10, name="secret", role="worker", kind="other-user")
    [hidden] = build_snapshot(reading, [], [row]).holders
    assert (hidden.name, hidden.role, hidden.bytes) == (None, "unknown", 10)
    [shown] = build_snapshot(reading, [], [row], show_other_users=True).holders
    assert shown.name == "secret"
