"""Parking the real CUDA build of torch, on the simulated driver: copies are real there."""

from __future__ import annotations

from typing import Any

import pytest
from jupyterlab_vram.kernels.answers import Installed, ParkCheck, RemedyDone
from jupyterlab_vram.kernels.channel import KernelChannel

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.fake_driver,
    pytest.mark.timeout(300),
]

MIB = 1 << 20
CONTEXT = 300 * MIB

# Kernels do nothing on this driver, so values come from the host.
BYTES = """
import torch, hashlib
def made(mib, seed=0):
    torch.manual_seed(seed)
    return torch.randint(0, 256, (mib << 20,), dtype=torch.uint8).to('cuda')
def digest(tensor):
    whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage().cpu())
    return hashlib.sha256(whole.numpy()).hexdigest()
"""


@pytest.fixture
def torch_kernel(start: Any, channel: KernelChannel, fake_driver: Any) -> Any:
    async def make(code: str, **variables: str) -> Any:
        environment = {**fake_driver.environment(preload=True), **variables}
        notebook = await start("torch", **environment)
        reply = await notebook.run(BYTES + code)
        assert reply["status"] == "ok", reply
        assert isinstance(await channel.install(notebook.kernel_id), Installed)
        return notebook

    return make


async def done(channel: KernelChannel, notebook: Any, op: Any) -> RemedyDone:
    answer = await channel.remedy(notebook.kernel_id, op)
    assert isinstance(answer, RemedyDone), answer
    return answer


async def test_tensors_go_and_come_back_bit_for_bit(
    torch_kernel: Any, channel: KernelChannel, fake_driver: Any
) -> None:
    notebook = await torch_kernel(
        "x = made(100); view = x[1000:2000]; y = made(130, 1)\n"
        "stream = torch.cuda.Stream()\n"
        "with torch.cuda.stream(stream): z = made(3, 2)\n"
        "peak = torch.cuda.max_memory_allocated()\n"
        "before = [digest(t) for t in (x, view, y, z)], [t._version for t in (x, view, y, z)]"
    )
    pid, ledger = notebook.kernel.provisioner.pid, fake_driver.ledger
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.refused == [], checked
    assert (checked.bytes, checked.count, checked.differs) == (233 * MIB, 3, 0)

    parked = await done(channel, notebook, "park")
    assert parked.ok and (parked.moved, parked.count) == (233 * MIB, 3), parked
    assert ledger.held(pid, 0) == CONTEXT

    back = await done(channel, notebook, "restore")
    assert back.ok, back
    assert await notebook.evaluate(
        "([digest(t) for t in (x, view, y, z)], [t._version for t in (x, view, y, z)]) == before"
    )
    assert await notebook.evaluate("torch.cuda.max_memory_allocated() == peak")
    assert await notebook.evaluate("view.data_ptr() == x.data_ptr() + 1000")
    streams = (
        "{s['stream'] for s in torch.cuda.memory_snapshot() if s['allocated_size'] == 3 << 20}"
    )
    assert await notebook.evaluate(f"{streams} == {{stream.cuda_stream}}")
