"""Remedies in real kernels: what they give back, and what may come between."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from channel_user import GENERATIONS, until
from jupyterlab_vram.kernels.answers import (
    Busy,
    Figures,
    Gone,
    RemedyDone,
)
from jupyterlab_vram.kernels.channel import KernelChannel
from jupyterlab_vram.simulated.ledger import Ledger

MIB = 1 << 20


@GENERATIONS
async def test_a_remedy_that_came_too_late_does_nothing(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "import gc, time, weakref\n"
        "class Ring: pass\n"
        "gc.disable()\n"
        "ring = Ring(); ring.itself = ring; alive = weakref.ref(ring); del ring"
    )
    cell = await notebook.started("time.sleep(4)")
    notebook.client.control_channel.send(notebook.client.session.msg("usage_request", {}))
    await until(lambda: notebook.kernel.execution_state == "idle")

    assert isinstance(await channel.remedy(notebook.kernel_id, "collect"), Busy)

    await notebook.reply(cell)
    await asyncio.sleep(0.5)
    assert await notebook.evaluate("alive() is not None") is True
    assert isinstance(await channel.remedy(notebook.kernel_id, "collect"), RemedyDone)
    assert await notebook.evaluate("alive() is not None") is False


@GENERATIONS
async def test_a_slow_remedy_is_waited_for(start: Any, channel: KernelChannel, kind: str) -> None:
    notebook = await start(kind)
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "import time\n"
        "class Slow:\n"
        "    def __init__(self): self.itself = self\n"
        "    def __del__(self): time.sleep(3)\n"
        "Slow(); None"
    )
    remedy = asyncio.ensure_future(channel.remedy(notebook.kernel_id, "collect"))
    await asyncio.sleep(0.5)
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures) and figures.running is not None
    done = await remedy
    assert isinstance(done, RemedyDone) and done.ok and done.seconds >= 3


@GENERATIONS
async def test_an_interrupted_remedy_says_so(start: Any, channel: KernelChannel, kind: str) -> None:
    notebook = await start(kind)
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "from jupyterlab_vram import simulated\n"
        "import time\n"
        "keep = simulated.empty(1)\n"
        "simulated.empty_cache = lambda: time.sleep(20)"
    )
    remedy = asyncio.ensure_future(channel.remedy(notebook.kernel_id, "release-cache"))
    await asyncio.sleep(0.5)
    await notebook.kernel.interrupt_kernel()
    done = await remedy
    assert isinstance(done, RemedyDone) and not done.ok
    assert done.text is not None and "KeyboardInterrupt" in done.text


@GENERATIONS
async def test_a_kernel_that_dies_in_the_middle_is_gone(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "import os\n"
        "class Bomb:\n"
        "    def __init__(self): self.itself = self\n"
        "    def __del__(self): os._exit(1)\n"
        "Bomb(); None"
    )
    assert isinstance(await channel.remedy(notebook.kernel_id, "collect"), Gone)


async def test_a_kernel_that_is_restarted_in_the_middle_is_gone(
    start: Any, channel: KernelChannel, kernels: Any
) -> None:
    notebook = await start()
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "from jupyterlab_vram import simulated\n"
        "import time\n"
        "keep = simulated.empty(1)\n"
        "simulated.empty_cache = lambda: time.sleep(30)"
    )
    remedy = asyncio.ensure_future(channel.remedy(notebook.kernel_id, "release-cache"))
    await asyncio.sleep(0.5)
    await kernels.restart_kernel(notebook.kernel_id, now=True)
    assert isinstance(await remedy, Gone)


@GENERATIONS
async def test_the_simulated_gpus_memory_comes_back(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "from jupyterlab_vram import simulated\n"
        "import gc; gc.disable()\n"
        "kept = simulated.empty(100 << 20, dtype='uint8')\n"
        "cached = simulated.empty(200 << 20, dtype='uint8'); del cached\n"
        "class Ring: pass\n"
        "ring = Ring(); ring.itself = ring\n"
        "ring.array = simulated.empty(300 << 20, dtype='uint8'); del ring"
    )
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures) and figures.problems == {}
    total = figures.frameworks["simulated"].total()
    assert (total.live, total.cached) == (400 * MIB, 200 * MIB)
    assert (total.context, total.peak) == (300 * MIB, 400 * MIB)
    (device,) = figures.frameworks["simulated"].devices
    assert (device.index, device.uuid) == (0, "GPU-51000000-0000-4000-8000-000000000001")
    assert figures.seconds < 0.5

    collected = await channel.remedy(notebook.kernel_id, "collect")
    assert isinstance(collected, RemedyDone)
    after = collected.after["simulated"].total()
    assert (after.live, after.cached) == (100 * MIB, 500 * MIB)

    released = await channel.remedy(notebook.kernel_id, "release-cache")
    assert isinstance(released, RemedyDone) and released.ok
    assert released.before["simulated"].total() == after
    assert released.after["simulated"].total().cached == 0


async def test_a_framework_that_fails_is_reported_and_keeps_nothing_alive(
    start: Any, channel: KernelChannel
) -> None:
    notebook = await start()
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "from jupyterlab_vram import simulated\n"
        "import sys, weakref\n"
        "keep = simulated.empty(1)\n"
        "class Thing: pass\n"
        "made = []\n"
        "def fails(*_):\n"
        "    thing = Thing(); made.append(weakref.ref(thing))\n"
        "    raise ValueError('no luck ' + 'x' * 1000)\n"
        "simulated.empty_cache = fails"
    )
    done = await channel.remedy(notebook.kernel_id, "release-cache")
    assert isinstance(done, RemedyDone) and not done.ok
    assert done.text is not None and done.text.startswith("simulated: ValueError: no luck")
    assert len(done.text) < 400

    await notebook.run("simulated.memory_allocated = fails")
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures)
    assert figures.frameworks == {} and "no luck" in figures.problems["simulated"]

    assert await notebook.evaluate("[made_one() is None for made_one in made]") == [True, True]
    assert await notebook.evaluate("hasattr(sys, 'last_traceback')") is False


async def test_a_gpu_that_the_kernel_does_not_use_is_no_problem(
    start: Any, channel: KernelChannel, tmp_path: Path
) -> None:
    two = tmp_path / "two"
    Ledger.create(two, {"devices": [{"card": "24-gib"}, {"card": "24-gib"}]}).close()
    notebook = await start(VRAM_SIMULATED_LEDGER=str(two))
    await channel.install(notebook.kernel_id)
    await notebook.run(
        "from jupyterlab_vram import simulated\nx = simulated.empty(1 << 20, device=1)"
    )
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures) and figures.problems == {}
    first, second = figures.frameworks["simulated"].devices
    assert (first.live, first.context) == (0, 0)
    assert (second.live, second.context) == (4 * MIB, 300 * MIB)
