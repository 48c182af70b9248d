"""The same with the real CUDA build of torch, on the simulated driver."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fake_driver import boards
from jupyterlab_vram.kernels.answers import Figures, Installed, ParkCheck, RemedyDone, Scan
from jupyterlab_vram.kernels.channel import KernelChannel

MIB = 1 << 20
CONTEXT = 300 * MIB


@pytest.mark.frameworks
@pytest.mark.fake_driver
@pytest.mark.timeout(300)
async def test_torchs_memory_comes_back_and_asking_makes_no_context(
    start: Any, channel: KernelChannel, fake_driver: Any
) -> None:
    notebook = await start("torch", **fake_driver.environment(preload=True))
    pid = notebook.kernel.provisioner.pid
    ledger = fake_driver.ledger

    await notebook.run("import torch, gc; gc.disable()")
    assert isinstance(await channel.install(notebook.kernel_id), Installed)
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures) and figures.frameworks == {}
    released = await channel.remedy(notebook.kernel_id, "release-cache")
    assert isinstance(released, RemedyDone) and released.ok
    assert ledger.held(pid, 0) == 0

    await notebook.run(
        "def take(mib): return torch.empty(mib << 20, dtype=torch.uint8, device='cuda')\n"
        "kept = take(100)\n"
        "cached = take(200); del cached\n"
        "class Ring: pass\n"
        "ring = Ring(); ring.itself = ring; ring.tensor = take(300); del ring"
    )
    assert ledger.held(pid, 0) == 600 * MIB + CONTEXT
    figures = await channel.figures(notebook.kernel_id)
    assert isinstance(figures, Figures) and figures.problems == {}
    total = figures.frameworks["torch"].total()
    assert (total.live, total.cached) == (400 * MIB, 200 * MIB)
    assert (total.context, total.peak) == (None, 400 * MIB)
    (device,) = figures.frameworks["torch"].devices
    assert (device.index, device.uuid) == (0, ledger.state().devices[0].uuid)
    assert figures.seconds < 0.5

    collected = await channel.remedy(notebook.kernel_id, "collect")
    assert isinstance(collected, RemedyDone) and collected.ok
    assert collected.after["torch"].total().live == 100 * MIB
    assert ledger.held(pid, 0) == 600 * MIB + CONTEXT

    released = await channel.remedy(notebook.kernel_id, "release-cache")
    assert isinstance(released, RemedyDone) and released.ok
    assert released.after["torch"].total().cached == 0
    assert ledger.held(pid, 0) == 100 * MIB + CONTEXT


@pytest.mark.frameworks
@pytest.mark.fake_driver
@pytest.mark.timeout(300)
async def test_a_kernel_with_torch_is_left_as_it_was(
    start: Any, channel: KernelChannel, fake_driver: Any
) -> None:
    """Eight GPUs, ten thousand tensors; no module is imported, no peak is moved."""
    fake_driver.load({"devices": [boards.RTX4090] * 8})
    notebook = await start("torch", **fake_driver.environment(preload=True))
    await notebook.run(
        "import sys, torch\n"
        "take = lambda n: torch.empty(1000, device=f'cuda:{n % 8}')\n"
        "many = [take(n) for n in range(10_000)]\n"
        "model = torch.nn.Linear(64, 64, device='cuda'); model(many[0][:64]).sum().backward()\n"
        "dropped = [take(n) for n in range(80)]; del dropped\n"
        "peaks = lambda: [torch.cuda.max_memory_allocated(n) for n in range(8)]"
    )
    await notebook.run("many[0]")
    assert isinstance(await channel.install(notebook.kernel_id), Installed)
    seen = "[peaks(), sorted(sys.modules), torch.is_grad_enabled()]"
    before, inside = await notebook.state(), await notebook.evaluate(seen)
    active = notebook.kernel.last_activity
    held = [fake_driver.ledger.held(notebook.kernel.provisioner.pid, n) for n in range(8)]

    for _ in range(3):
        figures = await channel.figures(notebook.kernel_id)
        assert isinstance(figures, Figures) and figures.problems == {}
        assert figures.seconds < 0.5
    assert len(figures.frameworks["torch"].devices) == 8
    scan = await channel.scan(notebook.kernel_id)
    assert isinstance(scan, Scan) and scan.ok, scan
    check = await channel.park_check(notebook.kernel_id)
    assert isinstance(check, ParkCheck) and check.ok, check
    collected = await channel.remedy(notebook.kernel_id, "collect")
    assert isinstance(collected, RemedyDone) and collected.ok
    await asyncio.sleep(0.3)

    assert notebook.kernel.last_activity == active
    assert [fake_driver.ledger.held(notebook.kernel.provisioner.pid, n) for n in range(8)] == held
    assert await notebook.evaluate(seen) == inside
    assert await notebook.state() == before
