"""Who holds the memory, asked of real kernels."""

from __future__ import annotations

from typing import Any

from channel_user import GENERATIONS
from jupyterlab_vram.kernels.answers import Busy, RemedyDone, Scan
from jupyterlab_vram.kernels.channel import KernelChannel

MIB = 1 << 20
TAKE = (
    "from jupyterlab_vram import simulated\n"
    "def take(mib): return simulated.empty(mib << 20, dtype='int8')\n"
    "cfg = {'teacher': take(12)}"
)


@GENERATIONS
async def test_a_kernel_tells_who_holds_its_memory_and_nothing_shows_of_it(
    start: Any, channel: KernelChannel, kind: str
) -> None:
    notebook = await start(kind)
    await channel.install(notebook.kernel_id)
    await notebook.run(TAKE)
    await notebook.run("take(14)")
    await notebook.run("def step():\n    batch = take(16)\n    1 / 0\nstep()")
    await notebook.run(
        "import asyncio\nasync def serve(model):\n    await asyncio.sleep(600)\n    print(model)"
    )
    await notebook.run("task = asyncio.ensure_future(serve(take(18)))")
    before = await notebook.state()
    active = notebook.kernel.last_activity

    scan = await channel.scan(notebook.kernel_id)
    assert isinstance(scan, Scan) and scan.ok, scan
    assert {(row.label, row.where, row.bytes) for row in scan.rows} == {
        ('cfg["teacher"]', "variable", 12 * MIB),
        ("Out[2]", "output", 14 * MIB),
        ("last error → step → batch", "exception", 16 * MIB),
        ("task → model", "generator", 18 * MIB),
    }
    assert scan.complete and scan.objects > 10_000
    # take, step, serve and the modules are no data.
    assert scan.variables == 2
    expected = {"unpin-exceptions": 16, "unpin-outputs": 14, "collect": 0}
    for remedy, mib in expected.items():
        assert (scan.gains[remedy].bytes, scan.gains[remedy].is_) == (mib * MIB, "exact"), remedy
    again = await channel.scan(notebook.kernel_id)
    assert isinstance(again, Scan) and again.rows == scan.rows
    assert notebook.kernel.last_activity == active
    assert await notebook.state() == before

    for remedy in ("unpin-exceptions", "unpin-outputs"):
        done = await channel.remedy(notebook.kernel_id, remedy)
        assert isinstance(done, RemedyDone) and done.ok
        live = [figures["simulated"].total().live for figures in (done.before, done.after)]
        assert live[0] - live[1] == expected[remedy] * MIB


async def test_a_busy_kernel_is_not_looked_through(start: Any, channel: KernelChannel) -> None:
    notebook = await start()
    await channel.install(notebook.kernel_id)
    cell = await notebook.started("import time; time.sleep(2)")
    assert isinstance(await channel.scan(notebook.kernel_id), Busy)
    await notebook.reply(cell)
