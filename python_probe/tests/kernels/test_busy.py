"""Kernels that are busy or stuck: what is offered, in which order, and what it does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from asking import by_id, request
from families import GIB
from jupyterlab_vram.kernels import lifecycle
from jupyterlab_vram.kernels.errors import KernelBusy
from jupyterlab_vram.kernels.remedies import Remedies
from users import CACHE, TAKE, Person

Make = Callable[..., Remedies]
Open = Callable[..., Awaitable[Person]]

HOLDS_THE_LOCK = "import time; time.sleep(0.3); sum(range(10**10))"
"""One call in C that lets no other thread in for minutes, and no interrupt. Before it the kernel
gets to say that it is busy."""


@pytest.mark.parametrize("asked_before", [True, False])
async def test_code_that_lets_nothing_else_in_is_known_by_its_silence(
    remedies: Make, person: Open, asked_before: bool
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1))
    door = remedies()
    if asked_before:
        await door.plan(someone.kernel_id)
    await someone.begin(HOLDS_THE_LOCK)
    await asyncio.sleep(0.5)
    began = time.monotonic()
    plan = await door.plan(someone.kernel_id)
    assert time.monotonic() - began < 20
    assert plan.state == "silent"
    assert "lets nothing else in" in (plan.text or "")
    assert [remedy.id for remedy in plan.remedies if remedy.offered] == [
        "interrupt",
        "restart",
        "shutdown",
    ]
    assert plan.bytes == GIB + (300 << 20)
    report = await door.run(someone.kernel_id, request("restart"), lambda _: None)
    assert report.freed == plan.bytes


@pytest.mark.parametrize("asked_before", [True, False])
async def test_a_loop_is_a_running_cell(remedies: Make, person: Open, asked_before: bool) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1) + CACHE.format(gib=1))
    door = remedies()
    if asked_before:
        await door.plan(someone.kernel_id)
    await someone.begin("while True: pass")
    plan = await door.plan(someone.kernel_id)
    assert (plan.state, someone.state) == ("busy", "busy")
    found = by_id(plan)
    assert found["release-cache"].why_not == "Memory can't be freed safely while a cell runs."
    if asked_before:
        assert (found["release-cache"].gain, plan.frameworks["simulated"].live) == (GIB, GIB)
    with pytest.raises(KernelBusy):
        await door.run(someone.kernel_id, request("unpin-outputs"), lambda _: None)
    report = await door.run(
        someone.kernel_id, request("interrupt", "release-cache", "collect"), lambda _: None
    )
    assert [step.ok for step in report.steps] == [True, True, True]
    assert report.freed == GIB


async def test_an_interrupt_that_does_nothing_says_so_and_the_rest_is_not_forced(
    remedies: Make, person: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "INTERRUPT_LIMIT", 1.0)
    someone = await person()
    await someone.run(TAKE.format(gib=1))
    await someone.begin(HOLDS_THE_LOCK)
    await asyncio.sleep(0.5)
    report = await remedies().run(
        someone.kernel_id, request("interrupt", "collect", "restart"), lambda _: None
    )
    assert [step.ok for step in report.steps] == [False, False, True]
    assert "did not stop within 1 s" in (report.steps[0].text or "")
    assert "can't be freed safely" in (report.steps[1].text or "")
