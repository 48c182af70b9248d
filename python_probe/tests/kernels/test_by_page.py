"""Restarts that an open page makes by itself: the server measures, and everybody is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psutil
import pytest
from asking import request
from families import GIB
from jupyterlab_vram import wire
from jupyterlab_vram.kernels import lifecycle, place
from jupyterlab_vram.kernels.errors import NotOffered
from jupyterlab_vram.kernels.remedies import Remedies
from users import TAKE, Person

Make = Callable[..., Remedies]
Open = Callable[..., Awaitable[Person]]
CONTEXT = 300 << 20


def by_page(where: str | None = None) -> wire.RunRequest:
    return request(wire.RunStep(id="restart", by_page="this one", place=where))


class Page:
    """Restarts the kernel as the server's own route does, when it may."""

    def __init__(self, manager: Any, kernel_id: str) -> None:
        self.told: list[wire.Report] = []
        self._manager = manager
        self._kernel_id = kernel_id
        self._restart: asyncio.Future[None] | None = None

    def __call__(self, report: wire.Report) -> None:
        self.told.append(report)
        if report.steps[0].by_page == "this one" and self._restart is None:
            self._restart = asyncio.ensure_future(self._manager.restart_kernel(self._kernel_id))


@pytest.mark.parametrize("where", [None, "cpu"])
async def test_it_is_measured_and_happens_once(
    remedies: Make, person: Open, jp_serverapp: Any, where: str | None
) -> None:
    manager = jp_serverapp.kernel_manager
    someone = await person()
    await someone.run(TAKE.format(gib=3))
    starts = []
    start = manager.get_kernel(someone.kernel_id)._async_launch_kernel

    async def launch(*args: Any, **kwargs: Any) -> Any:
        starts.append(args)
        return await start(*args, **kwargs)

    manager.get_kernel(someone.kernel_id)._async_launch_kernel = launch
    page, before = Page(manager, someone.kernel_id), someone.pid
    report = await remedies().run(someone.kernel_id, by_page(where), page)
    [step] = report.steps
    assert (step.ok, step.before, step.after) == (True, 3 * GIB + CONTEXT, 0), step
    assert (report.freed, report.survivors) == (3 * GIB + CONTEXT, [])
    assert page.told[-1].finished
    assert len(starts) == 1
    assert someone.pid != before
    if where:
        assert place.is_at(psutil.Process(someone.pid), where)


async def test_a_page_that_does_not_is_told_of(
    remedies: Make, person: Open, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "PAGE_LIMIT", 0.5)
    someone = await person()
    await someone.run(TAKE.format(gib=3))
    before = someone.pid
    report = await remedies().run(someone.kernel_id, by_page("cpu"), lambda _: None)
    [step] = report.steps
    assert (step.ok, step.freed, someone.pid) == (False, None, before)
    assert "did not restart" in (step.text or "")
    manager = jp_serverapp.kernel_manager.get_kernel(someone.kernel_id)
    assert place.place_of(manager) is None
    assert (await someone.run("x"))["status"] == "ok"


async def test_only_a_restart_is_a_pages(remedies: Make, person: Open) -> None:
    someone = await person()
    with pytest.raises(NotOffered):
        await remedies().run(
            someone.kernel_id,
            request(wire.RunStep(id="shutdown", by_page="this one")),
            lambda _: None,
        )
