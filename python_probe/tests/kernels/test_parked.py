"""Kernels whose GPU data is in host RAM, as plans and snapshots tell of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from asking import by_id, request
from families import GIB
from jupyterlab_vram import wire
from jupyterlab_vram.kernels import parked
from jupyterlab_vram.kernels.channel import KernelChannel
from jupyterlab_vram.kernels.describe import Describer
from jupyterlab_vram.kernels.parked import ParkedKernels
from jupyterlab_vram.kernels.registry import KernelRegistry
from jupyterlab_vram.kernels.remedies import Remedies
from users import CACHE, TAKE, Person

Make = Callable[..., Remedies]
Open = Callable[..., Awaitable[Person]]
Read = Callable[[], Awaitable[wire.Snapshot]]
CONTEXT = 300 << 20


async def row_of(read: Read, someone: Person) -> wire.Kernel:
    [row] = [row for row in (await read()).kernels if row.id == someone.kernel_id]
    return row


async def test_park_and_restore(remedies: Make, person: Open, read: Read) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=3) + CACHE.format(gib=1))
    door = remedies()
    plan = await door.plan(someone.kernel_id)
    assert plan.park is not None
    assert (plan.park.bytes, plan.park.count, plan.park.stays) == (3 * GIB, 1, [])
    assert plan.remedies[0].id == "park"
    assert (plan.remedies[0].offered, plan.remedies[0].default) == (True, False)

    report = await door.run(someone.kernel_id, request("park"), lambda _: None)
    [step] = report.steps
    assert (step.ok, step.freed, report.expected) == (True, 4 * GIB, 4 * GIB)
    assert "3.0\u00a0GiB is in host RAM now" in (step.text or "")
    row = await row_of(read, someone)
    assert (row.parked, row.bytes) == (3 * GIB, CONTEXT)

    plan = await door.plan(someone.kernel_id)
    found = by_id(plan)
    assert plan.remedies[0].id == "restore"
    assert {remedy.id for remedy in plan.remedies if remedy.offered} == {
        "restore",
        "restart",
        "shutdown",
    }
    assert "Restore it first" in (found["delete"].why_not or "")
    assert (found["restore"].gain, found["restore"].default) == (0, False)
    assert plan.remains.bytes == CONTEXT

    report = await door.run(someone.kernel_id, request("restore"), lambda _: None)
    [step] = report.steps
    assert (step.ok, step.freed) == (True, 0)
    assert "is back on the GPU" in (step.text or "")
    row = await row_of(read, someone)
    assert (row.parked, row.bytes) == (None, 3 * GIB + CONTEXT)


async def test_a_kernel_that_takes_its_data_back_by_itself_is_noticed(
    remedies: Make,
    person: Open,
    read: Read,
    registry: KernelRegistry,
    describer: Describer,
    jp_serverapp: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=3))
    door = remedies()
    await door.run(someone.kernel_id, request("park"), lambda _: None)
    channel: KernelChannel = door._tools.channel
    following = ParkedKernels(registry, channel, describer.measured)
    asked = 0
    figures = channel.figures

    async def counted(kernel_id: str) -> object:
        nonlocal asked
        asked += 1
        return await figures(kernel_id)

    monkeypatch.setattr(channel, "figures", counted)
    monkeypatch.setattr(parked, "EVERY", 60.0)  # however slow the computer is
    before = someone.last_activity
    for _ in range(5):
        following.follow(await read())
        await asyncio.sleep(0.1)
    assert asked == 1
    assert (await row_of(read, someone)).parked == 3 * GIB
    assert someone.last_activity == before

    await someone.run("assert x.nbytes == 3 << 30")
    while (await row_of(read, someone)).parked is not None:
        following.follow(await read())
        await asyncio.sleep(0.1)
    row = await row_of(read, someone)
    assert (row.parked, row.bytes) == (None, 3 * GIB + CONTEXT)
    assert asked == 2
    monkeypatch.setattr(parked, "EVERY", 0.0)
    following.follow(await read())
    await asyncio.sleep(0.2)
    assert asked == 2, "one that isn't parked any more is not asked"
    await following.close()


async def test_a_parked_kernel_that_ends_is_an_ordinary_end(
    remedies: Make, person: Open, read: Read
) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=3))
    door = remedies()
    await door.run(someone.kernel_id, request("park"), lambda _: None)
    report = await door.run(someone.kernel_id, request("restart"), lambda _: None)
    assert (report.freed, report.survivors) == (CONTEXT, [])
    assert (await row_of(read, someone)).parked is None


async def test_without_room_nothing_is_lost_and_the_report_says_so(
    remedies: Make, person: Open, read: Read
) -> None:
    someone, other = await person("a.ipynb"), await person("b.ipynb")
    await someone.run(TAKE.format(gib=3))
    door = remedies()
    await door.run(someone.kernel_id, request("park"), lambda _: None)
    await other.run(TAKE.format(gib=21))
    report = await door.run(someone.kernel_id, request("restore"), lambda _: None)
    [step] = report.steps
    assert step.ok is False
    assert "Nothing is lost" in (step.text or "")
    assert (await row_of(read, someone)).parked == 3 * GIB
    await other.run("del x; simulated.empty_cache()")
    report = await door.run(someone.kernel_id, request("restore"), lambda _: None)
    assert report.steps[0].ok


async def test_refusals_are_the_plans_reasons(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(
        TAKE.format(gib=1) + "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True, name='loader').start()"
    )
    plan = await remedies().plan(someone.kernel_id)
    park = by_id(plan)["park"]
    assert not park.offered
    assert "loader" in (park.why_not or "")
    report = await remedies().run(someone.kernel_id, request("park"), lambda _: None)
    assert report.steps[0].ok is False
    assert "loader" in (report.steps[0].text or "")
    assert report.freed == 0


async def test_a_setting_ticks_it(remedies: Make, person: Open) -> None:
    someone = await person()
    await someone.run(TAKE.format(gib=1))
    plan = await remedies(park_ticked=True).plan(someone.kernel_id)
    assert by_id(plan)["park"].default
    assert plan.remains.bytes == CONTEXT
