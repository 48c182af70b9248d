"""What may come in the middle of parking and of coming back, in real kernels."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from channel_user import GENERATIONS
from jupyterlab_vram.kernels.answers import Gone
from jupyterlab_vram.kernels.channel import KernelChannel
from park_user import CONTEXT, DATA, FULL, SIZES, done, held, installed, is_parked, parked

# Once, at the last of the storages, as it gives or takes its memory.
FAILS = """
resize, times = simulated.Storage.resize_, [{times}]
def fails(storage, nbytes):
    if storage is kept[1].storage and bool(nbytes) is {back} and times[0]:
        times[0] -= 1
        {how}
    resize(storage, nbytes)
simulated.Storage.resize_ = fails
"""


def fails(how: str, back: bool, times: int = 1) -> str:
    return DATA + FAILS.format(how=how, back=back, times=times)


@GENERATIONS
async def test_a_failure_while_it_leaves_brings_all_back(
    start: Any, channel: KernelChannel, tmp_path: Path, kind: str
) -> None:
    notebook = await start(kind)
    await installed(notebook, channel, fails("raise MemoryError('no luck')", back=False))
    before = held(tmp_path, notebook)
    failed = await done(notebook, channel, "park")
    assert not failed.ok
    assert failed.text == "Not parked; all is where it was: MemoryError: no luck."
    assert not await is_parked(notebook, channel)
    assert held(tmp_path, notebook) == before
    assert await notebook.evaluate(SIZES) == FULL


@GENERATIONS
async def test_a_failure_on_the_way_back_leaves_all_parked(
    start: Any, channel: KernelChannel, tmp_path: Path, kind: str
) -> None:
    notebook = await start(kind)
    await parked(notebook, channel, fails("raise RuntimeError('no luck')", back=True))
    failed = await done(notebook, channel, "restore")
    assert not failed.ok and failed.text is not None
    assert "could not be brought back: RuntimeError: no luck." in failed.text
    assert await is_parked(notebook, channel)
    assert held(tmp_path, notebook) == CONTEXT

    back = await done(notebook, channel, "restore")
    assert back.ok, back
    assert await notebook.evaluate(SIZES) == FULL


async def test_a_double_failure_leaves_it_parked_and_says_so(
    start: Any, channel: KernelChannel, tmp_path: Path
) -> None:
    notebook = await start()
    await installed(
        notebook,
        channel,
        DATA + "resize, left = simulated.Storage.resize_, [2]\n"
        "def fails(storage, nbytes):\n"
        "    if left[0] == 1 and storage is x.storage and nbytes or (\n"
        "        left[0] == 2 and storage is kept[1].storage and not nbytes\n"
        "    ):\n"
        "        left[0] -= 1\n"
        "        raise RuntimeError(f'no luck {left[0]}')\n"
        "    resize(storage, nbytes)\n"
        "simulated.Storage.resize_ = fails",
    )
    failed = await done(notebook, channel, "park")
    assert not failed.ok and failed.text == "Parked, with a problem: RuntimeError: no luck 0."
    assert await is_parked(notebook, channel)
    await notebook.run(f"seen = {SIZES}")
    assert await notebook.evaluate("seen") == FULL


@GENERATIONS
async def test_an_interrupt_while_it_leaves_changes_nothing(
    start: Any, channel: KernelChannel, tmp_path: Path, kind: str
) -> None:
    notebook = await start(kind)
    await installed(
        notebook,
        channel,
        DATA + "import time\n"
        "ask, slow = simulated.memory_allocated, [0, 2]\n"
        "def slowly(device=0):\n"
        "    time.sleep(slow.pop() if slow else 0)\n"
        "    return ask(device)\n",
    )
    # The figures that every remedy begins with ask, too.
    await notebook.run("slow = [2, 0]; simulated.memory_allocated = slowly")
    before = held(tmp_path, notebook)
    parking = asyncio.ensure_future(done(notebook, channel, "park"))
    await asyncio.sleep(1)
    await notebook.kernel.interrupt_kernel()
    failed = await parking
    assert not failed.ok
    assert failed.text == "Not parked; all is where it was: interrupted."
    assert held(tmp_path, notebook) == before
    assert await notebook.evaluate(SIZES) == FULL


@GENERATIONS
async def test_an_interrupt_on_the_way_back_stops_the_cell_and_loses_nothing(
    start: Any, channel: KernelChannel, tmp_path: Path, kind: str
) -> None:
    notebook = await start(kind)
    await parked(notebook, channel, "import time\n" + fails("time.sleep(2)", back=True))
    cell = await notebook.started("ran = True")
    await asyncio.sleep(1)
    await notebook.kernel.interrupt_kernel()
    reply = await notebook.reply(cell)
    assert reply["status"] == "error"
    assert "could not be brought back: it was interrupted." in reply["evalue"]
    await notebook.idle()
    assert held(tmp_path, notebook) == CONTEXT
    await notebook.run(f"seen = {SIZES}, 'ran' in globals()")
    assert await notebook.evaluate("seen") == [FULL, False]


@GENERATIONS
async def test_a_kernel_killed_in_the_middle_is_an_ordinary_death(
    start: Any, channel: KernelChannel, tmp_path: Path, kind: str
) -> None:
    for back in (False, True):
        notebook = await start(kind)
        code = "import os\n" + fails("os._exit(1)", back)
        await (parked if back else installed)(notebook, channel, code)
        op = "restore" if back else "park"
        assert isinstance(await channel.remedy(notebook.kernel_id, op), Gone)
        assert held(tmp_path, notebook) == 0


async def test_a_parked_kernel_restarts_and_shuts_down_as_any(
    start: Any, channel: KernelChannel, kernels: Any, tmp_path: Path
) -> None:
    notebook = await start()
    await parked(notebook, channel)
    await kernels.restart_kernel(notebook.kernel_id)
    await notebook.ready()
    assert held(tmp_path, notebook) == 0
    await parked(notebook, channel)
    pid = notebook.kernel.provisioner.pid
    await kernels.shutdown_kernel(notebook.kernel_id)
    assert isinstance(await channel.figures(notebook.kernel_id), Gone)
    assert not Path(f"/proc/{pid}").exists()


async def test_a_request_that_comes_while_it_leaves_waits_and_finds_it_back(
    start: Any, channel: KernelChannel
) -> None:
    notebook = await start()
    code = "import time\n" + fails("time.sleep(2)", back=False)
    await installed(notebook, channel, code)
    parking = asyncio.ensure_future(done(notebook, channel, "park"))
    await asyncio.sleep(0.5)
    cell = notebook.send(f"seen = {SIZES}")
    assert (await parking).ok
    assert (await notebook.reply(cell))["status"] == "ok"
    assert await notebook.evaluate("seen") == FULL
