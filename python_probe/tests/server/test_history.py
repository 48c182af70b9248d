import math
import tracemalloc

import pytest
from jupyterlab_vram import wire
from jupyterlab_vram.server.history import MOST_TRACKS, SLOTS, SPAN, STEPS, HistoryRecord

GIB = 1 << 30
START = 1_800_000_000.0


def snapshot(at, used=GIB, load=0.5, kernels=None, state="ok", measured=True):
    return wire.Snapshot(
        version="1",
        taken_at=at,
        source="simulated",
        state=state,
        gpus=[
            wire.Gpu(
                uuid="GPU-1",
                index=0,
                name="Simulated",
                memory=wire.Memory(used=used),
                utilization=wire.Utilization(gpu=load),
            )
        ],
        kernels=[
            wire.Kernel(
                id=kernel,
                name="python3",
                bytes=held if measured else None,
                gpus={"GPU-1": held} if held else {},
            )
            for kernel, held in (kernels or {}).items()
        ],
    )


def test_each_step_covers_its_span():
    record = HistoryRecord()
    for second in range(7 * 3600):
        record.add(snapshot(START + second, used=second), 1.0)
    now = START + 7 * 3600 - 1
    for step in STEPS:
        answer = record.get(now, span=step * SLOTS)
        assert answer.step == step
        used = answer.gpus["GPU-1"].used
        assert len(used) == SLOTS
        assert None not in used
        assert used == sorted(used)
        assert used[-1] == 7 * 3600 - 1
        assert answer.from_ + step * SLOTS == pytest.approx(now, abs=step + 1)


def test_coarse_steps_keep_peaks_of_bytes_and_the_mean_of_load():
    record = HistoryRecord()
    start = START - START % 36
    for second in range(36):
        peak = second == 10
        record.add(snapshot(start + second, used=9 * GIB if peak else GIB, load=float(peak)), 1.0)
    answer = record.get(start + 35, span=SPAN)
    assert answer.gpus["GPU-1"].used[-1] == 9 * GIB
    assert answer.gpus["GPU-1"].utilization[-1] == pytest.approx(1 / 36)


def test_time_without_a_reading_is_null_not_zero():
    record = HistoryRecord()
    record.add(snapshot(START), 1.0)
    record.add(snapshot(START + 1, state="timeout"), 1.0)
    for second in range(5, 8):
        record.add(snapshot(START + second), 1.0)
    used = record.get(START + 8, span=10).gpus["GPU-1"].used
    assert used == [None, GIB, None, None, None, None, GIB, GIB, GIB, None]


def test_a_longer_interval_leaves_no_holes():
    record = HistoryRecord()
    for n in range(4):
        record.add(snapshot(START + 15 * n, used=n), 15.0)
    used = record.get(START + 45, span=46).gpus["GPU-1"].used
    assert used == [0] + [1] * 15 + [2] * 15 + [3] * 15


def test_unknown_figures_are_null():
    record = HistoryRecord()
    record.add(snapshot(START, used=None, load=None), 1.0)
    answer = record.get(START, span=1)
    assert answer.gpus["GPU-1"] == wire.GpuHistory(used=[None], utilization=[None])


def test_a_kernel_is_recorded_from_its_first_memory_until_it_ends():
    record = HistoryRecord()
    record.add(snapshot(START, kernels={"a": 0, "b": 0}), 1.0)
    record.add(snapshot(START + 1, kernels={"a": GIB, "b": 0}), 1.0)
    record.add(snapshot(START + 2, kernels={"a": 0, "b": 0}), 1.0)
    record.add(snapshot(START + 3, kernels={"b": 0}), 1.0)
    answer = record.get(START + 3, span=4)
    assert answer.kernels == {"a": {"GPU-1": [None, GIB, 0, None]}}
    assert not record.knows_kernel("b")


def test_a_kernel_whose_size_is_hidden_is_null():
    record = HistoryRecord()
    record.add(snapshot(START, kernels={"a": GIB}), 1.0)
    record.add(snapshot(START + 1, kernels={"a": None}, measured=False), 1.0)
    assert record.get(START + 1, span=2).kernels == {"a": {"GPU-1": [GIB, None]}}


def test_filters_and_steps():
    record = HistoryRecord()
    record.add(snapshot(START, kernels={"a": GIB, "b": GIB}), 1.0)
    assert set(record.get(START, kernel="a").kernels) == {"a"}
    assert record.get(START, kernel="a").gpus == {}
    assert set(record.get(START, gpu="GPU-1").kernels) == {"a", "b"}
    assert record.get(START, span=10, step=36).step == 36
    assert record.get(START, span=10, step=20).step == 6
    assert record.get(START, start=START - 3000).step == 6
    assert record.get(START, span=1e300).step == 36
    assert record.get(START, start=START + 1e6).gpus["GPU-1"].used == []


def test_a_clock_that_was_far_ahead_does_not_stop_the_record():
    record = HistoryRecord()
    record.add(snapshot(START + 365 * 86400), 1.0)
    for second in range(3):
        record.add(snapshot(START + second, used=second), 1.0)
    for step in STEPS:
        used = record.get(START + 2, span=step * SLOTS).gpus["GPU-1"].used
        assert used[-1] == 2
        assert used.count(None) >= SLOTS - 3


def test_a_clock_set_back_loses_nothing():
    record = HistoryRecord()
    record.add(snapshot(START, used=5), 1.0)
    record.add(snapshot(START - 3600, used=7), 1.0)
    record.add(snapshot(START + 1, used=6), 1.0)
    assert record.get(START + 1, span=2).gpus["GPU-1"].used == [5, 6]


def test_memory_is_flat_over_ten_thousand_samples():
    """Kernels come and go all the time, each holding memory."""
    record = HistoryRecord()

    def run(first, count):
        for n in range(first, first + count):
            kernels = {f"kernel-{n // 10 + k}": GIB for k in range(4)}
            record.add(snapshot(START + n, kernels=kernels), 1.0)

    run(0, 2000)  # fills every track that is kept
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run(2000, 10_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(record._kernels) == MOST_TRACKS
    # tracemalloc counts the rings of new kernels, but not those of old ones, which it never saw.
    rings = MOST_TRACKS * len(STEPS) * 2 * SLOTS * 8
    assert grown < rings * 1.1


def test_what_is_older_than_the_longest_span_is_forgotten():
    record = HistoryRecord()
    record.add(snapshot(START, kernels={"a": GIB}), 1.0)
    record.add(snapshot(START + SPAN + 1, kernels={}), 1.0)
    assert not record.knows_kernel("a")
    assert record.knows_gpu("GPU-1")


def test_bytes_are_exact():
    record = HistoryRecord()
    record.add(snapshot(START, used=2**53 - 1), 1.0)
    used = record.get(START, span=1).gpus["GPU-1"].used
    assert used == [2**53 - 1]
    assert all(isinstance(value, int) and not math.isnan(value) for value in used)
