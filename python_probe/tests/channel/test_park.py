"""Parking in real kernels, with the simulated GPU's arrays: what moves, and what may come then."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from channel_user import GENERATIONS, Notebook, until
from jupyterlab_vram.kernels.answers import Figures, Installed, ParkCheck, RemedyDone
from jupyterlab_vram.kernels.channel import KernelChannel
from jupyterlab_vram.simulated.ledger import Ledger

MIB = 1 << 20
CONTEXT = 300 * MIB

DATA = """
from jupyterlab_vram import simulated
x = simulated.empty(100 << 20, dtype='uint8')
view = x.view()
kept = [simulated.empty(200 << 20, dtype='uint8'), simulated.empty(1000, dtype='uint8')]
cached = simulated.empty(50 << 20, dtype='uint8'); del cached
"""
SIZES = "[a.storage.nbytes for a in (x, view, *kept)]"
FULL = [100 * MIB, 100 * MIB, 200 * MIB, 1000]


def held(tmp_path: Path, notebook: Notebook) -> int:
    with Ledger.open(tmp_path / "ledger") as ledger:
        return ledger.held(notebook.kernel.provisioner.pid, 0)


async def parked(notebook: Notebook, channel: KernelChannel, data: str = DATA) -> None:
    await notebook.run(data)
    assert isinstance(await channel.install(notebook.kernel_id), Installed)
    done = await channel.remedy(notebook.kernel_id, "park")
    assert isinstance(done, RemedyDone) and done.ok, done


async def is_parked(notebook: Notebook, channel: KernelChannel) -> bool:
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures)
    return figures.parked is not None


@GENERATIONS
async def test_there_and_back(
    start: Any, channel: KernelChannel, tmp_path: Path, kind: str
) -> None:
    notebook = await start(kind)
    await notebook.run(DATA)
    await channel.install(notebook.kernel_id)
    handlers = "[repr(h) for hs in (k.shell_handlers, k.control_handlers) for h in hs.values()]"
    handlers = f"(lambda k: {handlers})(get_ipython().kernel)"
    before = await notebook.evaluate(handlers), await notebook.state()

    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.ok and checked.refused == []
    assert (checked.bytes, checked.count) == (300 * MIB + 1000, 3)
    assert (checked.stays, checked.stays_bytes, checked.differs) == ([], 0, 0)
    assert checked.host_free and checked.host_left and 0.2 < checked.host_left < 1
    assert held(tmp_path, notebook) > 350 * MIB + CONTEXT

    active = notebook.kernel.last_activity
    done = await channel.remedy(notebook.kernel_id, "park")
    assert isinstance(done, RemedyDone) and done.ok, done
    assert (done.moved, done.count, done.stays) == (300 * MIB + 1000, 3, [])
    assert done.before["simulated"].total().live == 300 * MIB + 1024
    assert done.after["simulated"].total().live == 0
    assert held(tmp_path, notebook) == CONTEXT
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures) and figures.parked == 300 * MIB + 1000

    back = await channel.remedy(notebook.kernel_id, "restore")
    assert isinstance(back, RemedyDone) and back.ok, back
    assert back.moved == 300 * MIB + 1000
    assert notebook.kernel.last_activity == active
    assert not await is_parked(notebook, channel)
    assert await notebook.evaluate(SIZES) == FULL
    assert (await notebook.evaluate(handlers), await notebook.state()) == before


@GENERATIONS
async def test_a_cell_finds_everything_back(start: Any, channel: KernelChannel, kind: str) -> None:
    notebook = await start(kind)
    await parked(notebook, channel)
    await notebook.run(f"seen = {SIZES}")
    assert await notebook.evaluate("seen") == FULL
    assert not await is_parked(notebook, channel)
