"""Runs that wait, and runs that are stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from asking import request
from families import GIB
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.errors import LastStep, NothingToStop
from jupyterlab_vram.kernels.remedies import Remedies
from users import CACHE, TAKE, Person, until

Make = Callable[..., Remedies]
Open = Callable[..., Awaitable[Person]]

SLOW = """
class Slow:
    def __init__(self): self.itself = self
    def __del__(self): __import__("time").sleep(1.5)
Slow(); None
"""


async def waiting(
    door: Remedies, someone: Person, told: list[wire.Report]
) -> asyncio.Future[wire.Report]:
    """A run that waits for a cell to end."""
    await someone.begin("import time; time.sleep(60)")
    run = asyncio.ensure_future(
        door.run(someone.kernel_id, request("collect", "release-cache", when="idle"), told.append)
    )
    await until(lambda: bool(told))
    return run


async def test_a_run_waits_until_all_cells_have_run(
    remedies: Make, person: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyterlab_vram.kernels.remedies.LOOK", 0.002)  # sees each moment
    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=1))
    door, told = remedies(), list[wire.Report]()
    for _ in range(40):
        await someone.begin("import time; time.sleep(0.1)")
    run = asyncio.ensure_future(
        door.run(someone.kernel_id, request("release-cache", when="idle"), told.append)
    )
    await someone.begin("done = True")
    report = await run
    assert report.freed == GIB
    assert report.steps[0].ok
    assert (await someone.run("assert done"))["status"] == "ok"


async def test_a_waiting_run_is_cancelled_at_once(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=1))
    door, told = remedies(), list[wire.Report]()
    run = await waiting(door, someone, told)
    assert (told[0].waiting, told[0].finished) == (True, False)
    assert door.under_way(someone.kernel_id) == {"collect", "release-cache"}

    stopped = door.stop(someone.kernel_id)
    assert (stopped.finished, stopped.waiting) == (True, False)
    assert {step.text for step in stopped.steps} == {"Not run. You stopped it."}
    assert await asyncio.wait_for(run, 20) == told[-1]
    assert told[-1].steps == stopped.steps
    assert someone.state == "busy"
    with pytest.raises(NothingToStop):
        door.stop(someone.kernel_id)


async def test_a_run_is_stopped_after_the_step_under_way(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=1) + SLOW)
    door, told = remedies(), list[wire.Report]()
    run = asyncio.ensure_future(
        door.run(someone.kernel_id, request("collect", "release-cache", "restart"), told.append)
    )
    await until(lambda: bool(told) and told[-1].steps[0].text == "Working…")
    stopped = door.stop(someone.kernel_id)
    assert not stopped.finished
    assert [step.ok for step in stopped.steps] == [None, False, False]
    with pytest.raises(LastStep):
        door.stop(someone.kernel_id)

    report = await run
    assert report.finished
    assert [step.ok for step in report.steps] == [True, False, False]
    assert {step.text for step in report.steps[1:]} == {"Not run. You stopped it."}
    assert report.freed == 0
    assert (await someone.run("x"))["status"] == "ok"
    assert [each.finished for each in told].count(True) == 1


async def test_the_last_step_is_not_stopped_half_way(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1) + SLOW)
    door, told = remedies(), list[wire.Report]()
    run = asyncio.ensure_future(
        door.run(someone.kernel_id, request("collect"), told.append),
    )
    await until(lambda: bool(told))
    with pytest.raises(LastStep):
        door.stop(someone.kernel_id)
    assert (await run).steps[0].ok


async def test_a_run_goes_on_when_the_browser_goes_away(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=2))
    await someone.begin("import time; time.sleep(2)")
    door, told = remedies(), list[wire.Report]()
    asked = asyncio.ensure_future(
        door.run(someone.kernel_id, request("release-cache", when="idle"), told.append)
    )
    await until(lambda: bool(told))
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert "also if you close the browser" in ((await door.plan(someone.kernel_id)).text or "")
    await until(lambda: told[-1].finished)
    assert told[-1].freed == 2 * GIB
    assert "close the browser" not in ((await door.plan(someone.kernel_id)).text or "")


async def test_a_stopping_server_ends_runs_cleanly(remedies: Make, person: Open) -> None:
    someone, other = await person("a.ipynb"), await person("b.ipynb")
    await other.run(TAKE.format(gib=1) + SLOW)
    door, told, at_work = remedies(), list[wire.Report](), list[wire.Report]()
    waits = await waiting(door, someone, told)
    works = asyncio.ensure_future(
        door.run(other.kernel_id, request("collect", "release-cache"), at_work.append)
    )
    await until(lambda: bool(at_work) and at_work[-1].steps[0].text == "Working…")
    await asyncio.wait_for(door.close(), 20)
    assert {step.text for step in (await waits).steps} == {"Not run. The server was stopped."}
    assert [step.text for step in (await works).steps] == [
        "Not finished. The server was stopped.",
        "Not run. The server was stopped.",
    ]
    assert told[-1].finished and at_work[-1].finished
