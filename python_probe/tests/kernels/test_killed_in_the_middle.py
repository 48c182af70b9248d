"""A kernel that is killed in the middle of a step: what its kill alone would cost, and no more."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from asking import request
from families import GIB
from jupyterlab_vram import wire
from jupyterlab_vram.kernels.remedies import Remedies
from jupyterlab_vram.simulated.ledger import Ledger
from users import CACHE, TAKE, Person, until

Make = Callable[..., Remedies]
Open = Callable[..., Awaitable[Person]]
CONTEXT = 300 << 20

MIDDLE: dict[wire.RemedyId, str] = {
    "park": "arrived_after(simulated, 'empty_cache')",
    "restore": "arrived_before(simulated, 'mem_get_info')",
    "collect": "arrived_before(gc, 'collect')",
    "release-cache": "arrived_before(simulated, 'empty_cache')",
    "unpin-exceptions": "arrived_before(simulated, 'empty_cache')",
    "unpin-outputs": "arrived_before(simulated, 'empty_cache')",
    "delete": "arrived_before(simulated, 'empty_cache')",
}
"""Remedy to where in it the kernel stays until it is killed."""

STAYS = """
import gc, time
def arrived():
    open({file!r}, "w").close()
    time.sleep(600)
def arrived_before(module, name):
    setattr(module, name, lambda *a, **k: arrived())
def arrived_after(module, name):
    function = getattr(module, name)
    setattr(module, name, lambda *a, **k: (function(*a, **k), arrived()))
"""


@pytest.mark.parametrize("remedy", MIDDLE)
async def test_it_is_told_and_costs_nobody_else(
    remedies: Make, person: Open, ledger: Ledger, tmp_path: Path, remedy: wire.RemedyId
) -> None:
    someone, other = await person(), await person("other.ipynb")
    await other.run(TAKE.format(gib=2))
    await someone.run(TAKE.format(gib=3) + CACHE.format(gib=1))
    await someone.run("x")
    await someone.run("def f():\n    y = simulated.empty(1 << 30, 'uint8')\n    1 / 0\nf()")
    door, file = remedies(), tmp_path / "arrived"
    await someone.run(STAYS.format(file=str(file)) + MIDDLE[remedy])
    if remedy == "restore":
        parked = await door.run(someone.kernel_id, request("park"), lambda _: None)
        assert parked.steps[0].ok and not file.exists()
    step = wire.RunStep(id=remedy, names=["x"] if remedy == "delete" else None)
    told: list[wire.Report] = []
    run = asyncio.ensure_future(door.run(someone.kernel_id, request(step, "restart"), told.append))
    await until(file.exists)
    killed = someone.pid
    os.kill(killed, signal.SIGKILL)
    report = await run
    assert report.finished and told[-1].finished
    assert [step.ok for step in report.steps] == [False, False]
    assert "has ended" in (report.steps[0].text or "")
    assert ledger.held(killed, 0) == 0
    assert (await other.run("assert x.nbytes == 2 << 30"))["status"] == "ok"
    assert ledger.held(other.pid, 0) == 2 * GIB + CONTEXT
