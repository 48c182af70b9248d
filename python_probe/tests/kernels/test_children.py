"""Ending what a kernel started, and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import psutil
import pytest
from asking import by_id, request
from families import GIB
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.errors import NotAllowed, NotOffered
from jupyterlab_vram.kernels.remedies import Remedies
from users import TAKE, Person

Make = Callable[..., Remedies]
Open = Callable[..., Awaitable[Person]]

CHILDREN = """
import subprocess, sys
code = '''
import sys, time, signal
from jupyterlab_vram import simulated
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
kept = simulated.empty(1 << 30, "uint8")
print("holds", flush=True)
time.sleep(100)
'''
def start(*arguments):
    child = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE,
        start_new_session="detached" in arguments,
    )
    assert child.stdout.readline() == b"holds\\n"
    return child
"""


def end(*pids: int) -> wire.RunRequest:
    return request(wire.RunStep(id="end-children", pids=list(pids)))


async def test_chosen_children_are_ended_and_no_others(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=2) + CHILDREN + "a, b = start(), start('detached')")
    door = remedies()
    plan = await door.plan(someone.kernel_id)
    one, other = sorted(plan.children, key=lambda child: child.pid)
    assert (one.bytes, other.bytes) == ((1 << 30) + (300 << 20),) * 2
    offer = by_id(plan)["end-children"]
    assert (offer.offered, offer.default) == (True, False)
    assert (offer.gain, offer.gain_is) == (2 * (one.bytes or 0), "exact")

    report = await door.run(someone.kernel_id, end(other.pid), lambda _: None)
    [step] = report.steps
    assert (step.ok, step.freed, step.freed_by) == (True, other.bytes, "driver")
    assert (report.expected, report.survivors) == (other.bytes, [])
    [left] = (await door.plan(someone.kernel_id)).children
    assert left.pid == one.pid
    assert (await someone.run("assert a.poll() is None and b.wait(5) is not None"))[
        "status"
    ] == "ok"


async def test_one_that_does_not_listen_is_forced(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(CHILDREN + "a = start('stubborn')")
    door = remedies()
    [child] = (await door.plan(someone.kernel_id)).children
    report = await door.run(someone.kernel_id, end(child.pid), lambda _: None)
    assert report.steps[0].ok
    assert "forced" in (report.steps[0].text or "")
    assert report.freed == child.bytes


async def test_only_this_kernels_children(remedies: Make, person: Open) -> None:
    someone, other = await person("a.ipynb"), await person("b.ipynb")
    await someone.run(TAKE.format(gib=1))
    await other.run(TAKE.format(gib=1) + CHILDREN + "a = start()")
    door = remedies()
    [child] = (await door.plan(other.kernel_id)).children
    for pid, words in (
        (child.pid, "did not start it"),
        (1, "did not start it"),
        (psutil.Process().pid, "did not start it"),
        (someone.pid, "the kernel itself"),
    ):
        with pytest.raises(NotOffered, match=words):
            await door.run(someone.kernel_id, end(pid), lambda _: None)
    assert psutil.pid_exists(child.pid)


async def test_a_number_that_was_given_away_while_the_run_waited(
    remedies: Make, person: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jupyterlab_vram.kernels import asked

    someone = await person()
    await someone.run(CHILDREN + "a = start()")
    door = remedies()
    [child] = (await door.plan(someone.kernel_id)).children
    # what was chosen is another process than the one with its number now
    monkeypatch.setattr(asked, "_started", lambda *_: (child.started_at or 0) - 1000)
    report = await door.run(someone.kernel_id, end(child.pid), lambda _: None)
    assert report.steps[0].ok is False
    assert "another one" in (report.steps[0].text or "")
    assert psutil.pid_exists(child.pid)


async def test_the_operators_word(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(CHILDREN + "a = start()")
    door = remedies(allow_end_processes=False)
    plan = await door.plan(someone.kernel_id)
    assert not by_id(plan)["end-children"].offered
    with pytest.raises(NotAllowed):
        await door.run(someone.kernel_id, end(plan.children[0].pid), lambda _: None)
    without_code = remedies(allow_code_in_kernels=False)
    plan = await without_code.plan(someone.kernel_id)
    assert list(by_id(plan)) == ["end-children", "restart", "shutdown"]
    report = await without_code.run(someone.kernel_id, end(plan.children[0].pid), lambda _: None)
    assert report.freed == GIB + (300 << 20)
