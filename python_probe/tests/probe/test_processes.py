"""The process lists: merged, doubted, described."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupyterlab_vram import wire
from jupyterlab_vram.probe import processes
from jupyterlab_vram.probe.processes import MOST_PID, implausible, merge, views
from jupyterlab_vram.probe.reading import GpuProcess

GIB = 1 << 30
LISTS = st.lists(st.tuples(st.integers(1, 6), st.none() | st.integers(0, 24 * GIB)), max_size=12)


def process(pid=100, size=GIB, gpu="GPU-a"):
    return GpuProcess(gpu=gpu, pid=pid, bytes=size, type="C")


def gpu(uuid="GPU-a", used=0, parent=None):
    return wire.Gpu(
        uuid=uuid,
        index=0,
        name="",
        parent=parent,
        memory=wire.Memory(total=24 * GIB, used=used),
    )


def test_a_pid_in_both_lists_is_one_row_with_the_larger_figure():
    (row,) = merge("GPU-a", [(7, 3072)], [(7, 120)])
    assert row == GpuProcess(gpu="GPU-a", pid=7, bytes=3072, type="C+G")


def test_a_pid_twice_in_one_list_keeps_its_kind():
    (row,) = merge("GPU-a", [(7, 3072), (7, 4096)], [])
    assert (row.bytes, row.type) == (4096, "C")


@given(LISTS, LISTS)
def test_merging_never_adds_up_and_never_invents(compute, graphics):
    rows = merge("GPU-a", compute, graphics)
    assert sorted(row.pid for row in rows) == sorted({pid for pid, _ in compute + graphics})
    for row in rows:
        sizes = [size for pid, size in compute + graphics if pid == row.pid and size]
        assert row.bytes == (max(sizes) if sizes else None)


def test_zero_bytes_of_a_listed_process_are_unknown():
    assert merge("GPU-a", [(7, 0)], [])[0].bytes is None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([process(pid=0)], "process 0"),
        ([process(pid=4294967295)], "4294967295"),
        ([process(pid=MOST_PID + 1)], str(MOST_PID + 1)),
        # Swapped: the pid is a byte count, the size a pid.
        ([process(pid=3 * GIB, size=4242)], str(3 * GIB)),
        ([process(size=25 * GIB)], "more than the whole GPU"),
        ([process(1, 13 * GIB), process(2, 13 * GIB)], "together"),
    ],
)
def test_what_cannot_be_is_doubted(rows, words):
    assert words in implausible(rows, 24 * GIB)


def test_what_can_be_is_not_doubted():
    assert implausible([process(1, 23 * GIB), process(MOST_PID, None)], 24 * GIB) is None
    assert implausible([process(1, 999 * GIB)], None) is None, "without a total there is no bound"


def test_views_of_sizes():
    assert views([gpu()], [process()], None).sizes == "all"
    assert views([gpu()], [], None).sizes == "all"
    some = views([gpu()], [process(), process(2, None)], None)
    assert some.sizes == "some" and "does not report" in some.reason
    assert views([gpu()], [process(2, None)], None).sizes == "none"


def test_memory_in_use_without_any_process_is_not_an_idle_gpu():
    seen = views([gpu(used=10 * GIB)], [], None)
    assert (seen.processes, seen.sizes) == ("none", "none")
    assert seen.reason


def test_an_idle_gpu_has_an_empty_list_and_no_reason():
    seen = views([gpu(used=20 << 20)], [], None)
    assert seen.processes != "none"


def test_a_card_in_slices_lists_its_processes_with_them():
    card, part = gpu("GPU-a", 10 * GIB), gpu("MIG-b", 10 * GIB, parent="GPU-a")
    seen = views([card, part], [process(gpu="MIG-b", size=10 * GIB)], None)
    assert seen.processes != "none"


def test_a_doubt_is_told():
    assert views([gpu()], [], "It lies.") == wire.Views(
        processes="none", sizes="none", reason="It lies."
    )


def test_in_a_process_namespace_only_a_part_is_seen(monkeypatch):
    monkeypatch.setattr(processes.host, "in_pid_namespace", lambda: True)
    seen = views([gpu()], [process()], None)
    assert seen.processes == "namespace" and "container" in seen.reason
    assert "container" in views([gpu(used=10 * GIB)], [], None).reason
