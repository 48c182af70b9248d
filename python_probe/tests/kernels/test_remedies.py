"""Giving memory back: real kernels of a real server, on the simulated GPU's books."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from asking import by_id, request
from families import GIB
from jupyterlab_vram import wire
from jupyterlab_vram.kernels import lifecycle
from jupyterlab_vram.kernels.errors import (
    KernelBusy,
    KernelGone,
    NoAnswer,
    NotAllowed,
    NotOffered,
    RunInProgress,
)
from jupyterlab_vram.kernels.remedies import Remedies
from jupyterlab_vram.simulated.ledger import Ledger
from users import CACHE, TAKE, Person, until

Make = Callable[..., Remedies]
Open = Callable[..., Awaitable[Person]]

CONTEXT = 300 << 20

ORPHAN = """
import os, subprocess
from jupyterlab_vram import simulated
from jupyterlab_vram.simulated.ledger import Ledger
child = subprocess.Popen(["sleep", "100"], start_new_session=True)
with Ledger.open() as ledger:
    ledger.charge(child.pid, 0, 1 << 30)
print(child.pid)
"""


async def test_plan_of_an_idle_kernel(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=3) + CACHE.format(gib=2))
    before = someone.last_activity
    plan = await remedies().plan(someone.kernel_id)
    assert (plan.state, plan.bytes) == ("idle", 5 * GIB + CONTEXT)
    assert plan.frameworks["simulated"].live == 3 * GIB
    assert plan.frameworks["simulated"].cached == 2 * GIB
    found = by_id(plan)
    assert list(found) == [
        "park",
        "collect",
        "release-cache",
        "unpin-exceptions",
        "unpin-outputs",
        "delete",
        "restart",
        "shutdown",
    ]
    assert all(remedy.offered or remedy.why_not for remedy in plan.remedies)
    assert {"collect", "release-cache", "restart", "shutdown"} <= {
        remedy.id for remedy in plan.remedies if remedy.offered
    }
    assert [remedy.id for remedy in plan.remedies if remedy.default] == [
        "collect",
        "release-cache",
    ]
    release = found["release-cache"]
    assert (release.gain, release.gain_is) == (2 * GIB, "exact")
    assert (found["restart"].gain, found["restart"].gain_is) == (5 * GIB + CONTEXT, "exact")
    assert plan.remains.bytes == 3 * GIB + CONTEXT
    assert plan.remains.why is not None
    # By its variables, its outputs or its last error: the framework tells only how much.
    assert "3.0\u00a0GiB is in use by the notebook;" in plan.remains.why
    assert "0.3\u00a0GiB is the driver's own share" in plan.remains.why
    assert someone.last_activity == before


async def test_release_cache_is_measured_by_the_driver(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=3) + CACHE.format(gib=2))
    told: list[wire.Report] = []
    report = await remedies().run(
        someone.kernel_id, request("release-cache", "collect"), told.append
    )
    assert [step.id for step in report.steps] == ["collect", "release-cache"]
    assert all(step.ok for step in report.steps)
    [collect, release] = report.steps
    assert (collect.freed, collect.freed_by) == (0, "driver")
    assert (release.freed, release.freed_by) == (2 * GIB, "driver")
    assert (release.before, release.after) == (5 * GIB + CONTEXT, 3 * GIB + CONTEXT)
    assert (report.freed, report.expected) == (2 * GIB, 2 * GIB)
    assert report.remains.bytes == 3 * GIB + CONTEXT
    assert report.finished
    assert [each.finished for each in told] == [False, False, True]
    assert {each.run_id for each in told} == {report.run_id}
    assert told[1].steps[0].ok is True
    assert told[1].steps[1].ok is None


async def test_collect_frees_a_forgotten_cycle(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run("import gc; gc.disable()" + TAKE.format(gib=2) + "l = [x]; l.append(l)")
    await someone.run("del x, l")
    report = await remedies().run(
        someone.kernel_id, request("collect", "release-cache"), lambda _: None
    )
    assert "2.0\u00a0GiB of forgotten objects" in (report.steps[0].text or "")
    assert report.freed == 2 * GIB


async def test_a_kernel_that_runs_is_left_alone(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1))
    door = remedies()
    await door.plan(someone.kernel_id)
    await someone.begin("import time; time.sleep(3)")
    plan = await door.plan(someone.kernel_id)
    found = by_id(plan)
    assert (plan.state, someone.state) == ("busy", "busy")
    assert plan.text
    assert not found["release-cache"].offered
    assert found["interrupt"].offered
    assert found["restart"].offered
    with pytest.raises(KernelBusy):
        await door.run(someone.kernel_id, request("release-cache"), lambda _: None)
    assert someone.state == "busy"


async def test_interrupt_then_free(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=1))
    await someone.begin("import time; time.sleep(100)")
    report = await remedies().run(
        someone.kernel_id, request("release-cache", "interrupt"), lambda _: None
    )
    assert [(step.id, step.ok) for step in report.steps] == [
        ("interrupt", True),
        ("release-cache", True),
    ]
    assert report.freed == GIB


async def test_an_interrupt_without_effect_says_so(
    remedies: Make, person: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "INTERRUPT_LIMIT", 1.0)
    someone = await person()
    await someone.run("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)")
    # ipykernel sets its own handler for each cell
    await someone.begin(
        "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(4)"
    )
    report = await remedies().run(someone.kernel_id, request("interrupt"), lambda _: None)
    [step] = report.steps
    assert step.ok is False
    assert "did not stop" in (step.text or "")


async def test_when_idle_waits(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=1))
    await someone.begin("import time; time.sleep(3)")
    told: list[wire.Report] = []
    door = remedies()
    run = asyncio.ensure_future(
        door.run(someone.kernel_id, request("release-cache", when="idle"), told.append)
    )
    await until(lambda: bool(told))
    assert "Waits" in (told[0].steps[0].text or "")
    with pytest.raises(RunInProgress):
        await door.run(someone.kernel_id, request("collect", when="idle"), told.append)
    assert (await run).freed == GIB


async def test_when_idle_ends_with_the_kernel(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1))
    await someone.begin("import time; time.sleep(100)")
    told: list[wire.Report] = []
    door = remedies()
    run = asyncio.ensure_future(
        door.run(someone.kernel_id, request("release-cache", when="idle"), told.append)
    )
    await until(lambda: bool(told))
    ended = await door.run(someone.kernel_id, request("restart"), lambda _: None)
    assert ended.freed == GIB + CONTEXT
    report = await run
    assert report.finished
    assert report.steps[0].ok is False
    assert "restarted" in (report.steps[0].text or "")


@pytest.mark.parametrize("remedy", ["restart", "shutdown"])
async def test_ending_the_process_returns_everything(
    remedies: Make, person: Open, ledger: Ledger, remedy: wire.RemedyId
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=3))
    report = await remedies().run(someone.kernel_id, request(remedy), lambda _: None)
    [step] = report.steps
    assert (step.ok, step.freed, step.freed_by, step.after) == (
        True,
        3 * GIB + CONTEXT,
        "driver",
        0,
    )
    assert (report.freed, report.remains.bytes, report.survivors) == (step.freed, 0, [])
    assert ledger.memory(0).used == 0
    if remedy == "restart":
        await someone.sit_down()
        assert (await someone.run("x"))["ename"] == "NameError"


async def test_survivors_are_named_and_can_be_ended(
    remedies: Make,
    person: Open,
    read: Callable[[], Awaitable[wire.Snapshot]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from jupyterlab_vram.kernels.ending import end

    monkeypatch.setattr(lifecycle, "RETURN_LIMIT", 1.0)
    someone = await person("old-train.ipynb")
    await someone.run(TAKE.format(gib=2) + ORPHAN)
    report = await remedies().run(someone.kernel_id, request("restart"), lambda _: None)
    [survivor] = report.survivors
    assert (survivor.name, survivor.bytes) == ("sleep", GIB)
    assert report.freed == 2 * GIB + CONTEXT
    assert report.remains.bytes == GIB
    assert "stays with a process" in (report.steps[0].text or "")
    snapshot = await read()
    [row] = snapshot.holders
    assert (row.pid, row.kind, row.notebook) == (survivor.pid, "leftover", "old-train.ipynb")
    ended = await end(row.pid, row.started_at or 0, snapshot)
    assert ended.ended
    assert not psutil.pid_exists(row.pid) or (
        psutil.Process(row.pid).status() == psutil.STATUS_ZOMBIE
    )


async def test_one_run_at_a_time(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1))
    door = remedies()
    first = asyncio.ensure_future(door.run(someone.kernel_id, request("restart"), lambda _: None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(RunInProgress):
        await door.run(someone.kernel_id, request("restart"), lambda _: None)
    assert (await first).steps[0].ok


async def test_a_kernel_that_ends_in_the_middle(
    remedies: Make, person: Open, jp_serverapp: Any
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=1))

    ends: list[asyncio.Task[None]] = []

    def on_progress(report: wire.Report) -> None:
        if report.steps[0].ok and not ends:
            end = jp_serverapp.kernel_manager.shutdown_kernel(someone.kernel_id, now=True)
            ends.append(asyncio.ensure_future(end))

    report = await remedies().run(
        someone.kernel_id, request("collect", "release-cache", "restart"), on_progress
    )
    assert report.finished
    assert [step.ok for step in report.steps] == [True, False, False]
    assert all(step.text for step in report.steps)


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        (["delete"], NotOffered),
        (["end-children"], NotOffered),
        (["park", "restore"], NotOffered),
        (["collect", "collect"], NotOffered),
        (["restart", "shutdown"], NotOffered),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anything(
    remedies: Make, person: Open, ids: Any, error: type[Exception]
) -> None:
    someone = await person()
    with pytest.raises(error):
        await remedies().run(someone.kernel_id, request(*ids), lambda _: None)


async def test_the_operators_word(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1))
    no_code = remedies(allow_code_in_kernels=False)
    plan = await no_code.plan(someone.kernel_id)
    assert (plan.state, list(by_id(plan))) == ("no-agent", ["restart", "shutdown"])
    with pytest.raises(NotAllowed):
        await no_code.run(someone.kernel_id, request("collect"), lambda _: None)
    only_looking = remedies(read_only=True)
    plan = await only_looking.plan(someone.kernel_id)
    assert not any(remedy.offered for remedy in plan.remedies)
    assert all(remedy.why_not for remedy in plan.remedies)
    with pytest.raises(NotAllowed):
        await only_looking.run(someone.kernel_id, request("restart"), lambda _: None)


async def test_an_unknown_kernel(remedies: Make, jp_serverapp: Any) -> None:
    with pytest.raises(KernelGone):
        await remedies().plan("nothing")
    with pytest.raises(KernelGone):
        await remedies().run("nothing", request("restart"), lambda _: None)


async def test_a_kernel_that_is_not_ipykernel(
    remedies: Make, person: Open, jp_serverapp: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "kernels" / "other"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(
        json.dumps({"argv": argv, "language": "R", "display_name": "R"})
    )
    jp_serverapp.kernel_spec_manager.kernel_dirs.append(str(tmp_path / "kernels"))
    someone = await person("a.ipynb", "other")
    plan = await remedies().plan(someone.kernel_id)
    assert (plan.state, list(by_id(plan))) == ("no-agent", ["restart", "shutdown"])
    assert "R" in (plan.text or "")
    with pytest.raises(NoAnswer):
        await remedies().run(someone.kernel_id, request("collect"), lambda _: None)


async def test_a_kernel_without_gpu_memory(
    remedies: Make, person: Open, read: Callable[[], Awaitable[wire.Snapshot]]
) -> None:
    holder = await person("a.ipynb")
    await holder.run(TAKE.format(gib=1))
    someone = await person("b.ipynb")
    rows = {kernel.id: kernel for kernel in (await read()).kernels}
    assert rows[holder.kernel_id].bytes == GIB + CONTEXT
    assert rows[someone.kernel_id].bytes == 0
    plan = await remedies().plan(someone.kernel_id)
    found = by_id(plan)
    assert not found["collect"].offered
    assert found["collect"].why_not == "This kernel holds no GPU memory."


async def test_hidden_processes_are_unknown_not_zero(
    remedies: Make,
    person: Open,
    ledger: Ledger,
    read: Callable[[], Awaitable[wire.Snapshot]],
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=2) + CACHE.format(gib=2))
    ledger.set_device(0, hide_processes=True)
    [row] = (await read()).kernels
    assert (row.bytes, row.gpus) == (None, {})
    report = await remedies().run(someone.kernel_id, request("release-cache"), lambda _: None)
    [step] = report.steps
    assert (step.freed, step.freed_by) == (2 * GIB, "framework")
    report = await remedies().run(someone.kernel_id, request("restart"), lambda _: None)
    assert report.freed is None
    assert "doesn't say" in (report.steps[0].text or "")


async def test_other_clients_of_the_server_keep_their_connection(
    remedies: Make, person: Open
) -> None:
    """One from the same kernel manager, as other extensions have it."""
    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=1))
    door = remedies()
    await door.plan(someone.kernel_id)
    assert (await someone.run("1"))["status"] == "ok"
    await door.run(someone.kernel_id, request("release-cache"), lambda _: None)
    assert (await someone.run("2"))["status"] == "ok"


async def test_what_shares_its_segment_with_live_blocks_is_not_promised(
    remedies: Make, person: Open
) -> None:
    someone = await person()
    await someone.run(
        "from jupyterlab_vram import simulated\n"
        "x = [simulated.empty(5 << 20, 'uint8') for _ in range(400)]\n"
        "del x[1::2]"
    )
    door = remedies()
    plan = await door.plan(someone.kernel_id)
    release = by_id(plan)["release-cache"]
    assert (release.gain, release.gain_is) == (0, "exact")
    assert (plan.frameworks["simulated"].cached or 0) > 900 << 20
    assert "is kept for reuse" in (plan.remains.why or "")
    report = await door.run(someone.kernel_id, request("release-cache"), lambda _: None)
    assert (report.freed, report.expected) == (0, 0)
    assert "stays cached" in (report.steps[0].text or "")
