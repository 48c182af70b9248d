"""What a plan promises of each remedy, beside what the driver shows after it, on real kernels."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import pytest
from asking import by_id, request
from families import GIB
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.remedies import Remedies
from test_children import CHILDREN
from users import CACHE, TAKE, Person

Make = Callable[..., Remedies]
Open = Callable[..., Awaitable[Person]]

MIB = 1 << 20

CELLS = [
    "import gc; gc.disable()" + TAKE.format(gib=3),
    "kept = simulated.empty(1 << 29, 'uint8')",
    "simulated.empty(1 << 30, 'uint8')",
    "def fails():\n    inner = simulated.empty(2 << 30, 'uint8')\n    1 / 0\nfails()",
    "z = simulated.empty(1 << 29, 'uint8'); ring = [z]; ring.append(ring); del z, ring",
    CACHE.format(gib=2),
]
"""A notebook with everything that pins memory: 1/2 GiB of garbage, an output of 1 GiB, an error
with 2 GiB, two variables with 3 and 1/2 GiB, and 2 GiB of cache."""

PROMISES: dict[wire.RemedyId, tuple[float, str]] = {
    "park": (7, "exact"),
    "collect": (0.5, "exact"),
    "release-cache": (2, "exact"),
    "unpin-exceptions": (2, "exact"),
    "unpin-outputs": (1, "exact"),
    "delete": (3.5, "at-most"),
    "end-children": (1 + 300 / 1024, "exact"),
    "restart": (9 + 1 + 600 / 1024, "at-most"),
    "shutdown": (9 + 1 + 600 / 1024, "at-most"),
}
"""Remedy to GiB and certainty; a child that might stay makes the end of the kernel's uncertain."""


@pytest.mark.parametrize("remedy", PROMISES)
async def test_a_promise_is_kept(remedies: Make, person: Open, remedy: wire.RemedyId) -> None:
    someone = await person()
    for cell in [*CELLS, CHILDREN + "child = start()"]:
        await someone.run(cell)
    door = remedies()
    plan = await door.plan(someone.kernel_id)
    offer = by_id(plan)[remedy]
    assert offer.offered, offer.why_not
    promised, certainty = PROMISES[remedy]
    assert (offer.gain or 0) == pytest.approx(promised * GIB, abs=MIB)
    assert offer.gain_is == certainty

    step = wire.RunStep(id=remedy)
    if remedy == "delete":
        step.names = [row.name for row in plan.holders_in_kernel if row.name is not None]
        assert sorted(step.names) == ["kept", "x"]
    if remedy == "end-children":
        step.pids = [child.pid for child in plan.children]
    steps: list[wire.RunStep | wire.RemedyId] = [step]
    beside = 0
    if remedy not in ("release-cache", "end-children", "restart", "shutdown"):
        steps.append("release-cache")
        beside = by_id(plan)["release-cache"].gain or 0
    report = await door.run(someone.kernel_id, request(*steps), lambda _: None)
    assert all(each.ok for each in report.steps), report.steps
    freed = report.freed or 0
    also = 0
    if remedy in ("unpin-exceptions", "unpin-outputs", "delete"):
        also = by_id(plan)["collect"].gain or 0  # these collect the garbage, too
    if certainty == "exact" or remedy in ("delete", "restart", "shutdown"):
        assert freed == pytest.approx((offer.gain or 0) + beside + also, abs=MIB)
    assert report.expected == pytest.approx(freed, abs=MIB)
    if remedy not in ("restart", "shutdown"):
        left = await door.plan(someone.kernel_id)
        assert left.bytes == pytest.approx((plan.bytes or 0) - freed, abs=MIB)


async def test_everything_but_the_context_comes_back_step_by_step(
    remedies: Make, person: Open
) -> None:
    someone = await person()
    for cell in CELLS:
        await someone.run(cell)
    door = remedies()
    plan = await door.plan(someone.kernel_id)
    report = await door.run(
        someone.kernel_id,
        request(
            wire.RunStep(id="delete", names=["x", "kept"]),
            "unpin-outputs",
            "unpin-exceptions",
            "release-cache",
            "collect",
        ),
        lambda _: None,
    )
    assert [(step.id, (step.freed or 0) / GIB) for step in report.steps] == [
        ("collect", 0),
        ("release-cache", 2.5),
        ("unpin-exceptions", 2),
        ("unpin-outputs", 1),
        ("delete", 3.5),
    ]
    assert report.freed == report.expected == (plan.bytes or 0) - (300 << 20)
    assert report.remains.bytes == 300 << 20
    assert report.remains.why == (
        "0.3\u00a0GiB is the driver's own share: only ending the process returns it."
    )
    for step in report.steps:
        before = step.frameworks_before["simulated"]
        after = step.frameworks_after["simulated"]
        assert before.live is not None and after.live is not None
        assert before.live >= after.live
        assert step.seconds is not None
    assert "Deleted x, kept." in (report.steps[-1].text or "")


async def test_a_driver_that_is_late_is_waited_for(
    remedies: Make, person: Open, read: Callable[[], Awaitable[wire.Snapshot]]
) -> None:
    """It stands in for a real one, which may show what was returned only after seconds."""
    shown: list[tuple[float, wire.Snapshot]] = []

    async def late() -> wire.Snapshot:
        shown.append((time.monotonic(), await read()))
        old = [each for at, each in shown if at < time.monotonic() - 2]
        return old[-1] if old else shown[0][1]

    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=2))
    report = await remedies(read=late).run(
        someone.kernel_id, request("release-cache"), lambda _: None
    )
    [step] = report.steps
    assert (step.freed, step.freed_by) == (2 * GIB, "driver")
    assert 2 <= (step.seconds or 0) < 9


async def test_what_shares_segments_is_only_promised_as_a_bound(
    remedies: Make, person: Open
) -> None:
    someone = await person()
    await someone.run(
        "from jupyterlab_vram import simulated\n"
        "some = [simulated.empty(5 << 20, 'uint8') for _ in range(400)]\n"
        "other = some[::2]; some = some[1::2]; del other[::2]"
    )
    door = remedies()
    plan = await door.plan(someone.kernel_id)
    [row] = [row for row in plan.holders_in_kernel if row.name == "some"]
    assert (row.count, row.bytes) == (200, 1000 * MIB)
    report = await door.run(
        someone.kernel_id, request(wire.RunStep(id="delete", names=["some"])), lambda _: None
    )
    assert (report.freed or 0) < 1000 * MIB
    assert by_id(plan)["delete"].gain_is == "at-most"


async def test_only_outputs_with_gpu_memory_go_unless_all_are_asked_for(
    remedies: Make, person: Open
) -> None:
    someone = await person()
    await someone.run("from jupyterlab_vram import simulated")
    await someone.run("'an output of words'")
    await someone.run("simulated.empty(1 << 30, 'uint8')")
    door = remedies()
    assert "Out[3]" in by_id(await door.plan(someone.kernel_id))["unpin-outputs"].loses
    await door.run(someone.kernel_id, request("unpin-outputs"), lambda _: None)
    assert (await someone.run("assert list(Out) == [2], Out"))["status"] == "ok"
    plan = await door.plan(someone.kernel_id)
    assert by_id(plan)["unpin-outputs"].why_not == "No output in Out or _ holds GPU memory."
    step = wire.RunStep(id="unpin-outputs", all=True)
    await door.run(someone.kernel_id, request(step), lambda _: None)
    assert (await someone.run("assert not Out, Out"))["status"] == "ok"


async def test_a_plan_that_is_opened_again_is_quick_until_something_runs(
    remedies: Make, person: Open
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1))
    door = remedies()
    first = await door.plan(someone.kernel_id)
    again = await door.plan(someone.kernel_id)
    assert again.scan == first.scan
    assert again.holders_in_kernel == first.holders_in_kernel
    await someone.run("y = simulated.empty(1 << 30, 'uint8')")
    changed = await door.plan(someone.kernel_id)
    assert {row.name for row in changed.holders_in_kernel} == {"x", "y"}
    await door.run(
        someone.kernel_id, request(wire.RunStep(id="delete", names=["y"])), lambda _: None
    )
    left = await door.plan(someone.kernel_id)
    assert {row.name for row in left.holders_in_kernel} == {"x"}


async def test_looking_leaves_nothing_for_the_collector(remedies: Make, person: Open) -> None:
    """A ring of the scan's own would keep what it saw, and unpinning would free nothing."""
    someone = await person()
    for cell in CELLS:
        await someone.run(cell)
    door = remedies()
    await door.plan(someone.kernel_id)
    await someone.run("gc.collect()")
    await door.plan(someone.kernel_id)
    cell = "gc.set_debug(gc.DEBUG_SAVEALL); gc.collect(); gc.set_debug(0)"
    await someone.run(cell)
    reply = await someone.run("assert not gc.garbage, [type(each) for each in gc.garbage][:20]")
    assert reply["status"] == "ok", reply


async def test_a_variable_that_shares_its_memory_says_with_whom(
    remedies: Make, person: Open
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=3) + "\nother = [x]")
    plan = await remedies().plan(someone.kernel_id)
    [row] = plan.holders_in_kernel
    assert (row.name, row.gain, row.also) == ("x", 0, ["other"])
