"""Parking the real CUDA build of torch, on the simulated driver: copies are real there."""

from __future__ import annotations

import asyncio
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


GRAPH = """
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): made_there = torch.empty(1 << 20, device='cuda')
"""
GRAPH_WITHOUT_MEMORY = """
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): x.zero_()
"""
POOL = """
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool): made_there = torch.empty(1 << 20, device='cuda')
"""
SENT = """
from torch.multiprocessing.reductions import reduce_tensor
sent = reduce_tensor(x)
"""
SHARED = {
    "import sys, types; sys.modules['cupy'] = types.ModuleType('cupy')": "CuPy is loaded, and may",
    "import numba.cuda": "Numba for CUDA is loaded, and may use PyTorch's memory by its address",
    "capsule = torch.utils.dlpack.to_dlpack(x)": "capsule holds a tensor's address for others",
    GRAPH_WITHOUT_MEMORY: "CUDA graphs or memory pools have memory at fixed addresses",
    GRAPH: "CUDA graphs or memory pools have memory at fixed addresses",
    POOL: "CUDA graphs or memory pools have memory at fixed addresses",
    SENT: "Tensors are shared with another process (torch.multiprocessing), which uses them",
}


async def test_what_others_know_by_its_address_is_refused(
    torch_kernel: Any, channel: KernelChannel, fake_driver: Any
) -> None:
    for code, sentence in SHARED.items():
        notebook = await torch_kernel(f"x = made(4)\n{code}")
        held = fake_driver.ledger.held(notebook.kernel.provisioner.pid, 0)
        checked = await channel.park_check(notebook.kernel_id)
        assert isinstance(checked, ParkCheck) and checked.ok, checked
        (refused,) = checked.refused
        assert sentence in refused
        parked = await done(channel, notebook, "park")
        assert not parked.ok
        assert parked.text == f"Not parked; nothing was changed. {refused}"
        assert fake_driver.ledger.held(notebook.kernel.provisioner.pid, 0) == held
        notebook.kernel.provisioner.process.kill()


async def test_what_another_process_sent_is_refused(
    torch_kernel: Any, channel: KernelChannel, tmp_path: Any
) -> None:
    file = tmp_path / "sent"
    sender = await torch_kernel(
        "from multiprocessing.reduction import ForkingPickler\n"
        f"x = made(4); open({str(file)!r}, 'wb').write(bytes(ForkingPickler.dumps(x)))"
    )
    receiver = await torch_kernel(
        f"import pickle; own = made(4); x = pickle.load(open({str(file)!r}, 'rb'))"
    )
    assert await receiver.evaluate("digest(x)") == await sender.evaluate("digest(x)")
    for notebook in (sender, receiver):
        checked = await channel.park_check(notebook.kernel_id)
        assert isinstance(checked, ParkCheck)
        (refused,) = checked.refused
        assert refused.startswith("Tensors are shared with another process")
    await receiver.run("del x")
    checked = await channel.park_check(receiver.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.refused == []


async def test_what_cant_be_moved_stays_and_is_named(
    torch_kernel: Any, channel: KernelChannel, fake_driver: Any
) -> None:
    notebook = await torch_kernel(
        "moved = made(40); kept_too = torch.ones(4 << 20, dtype=torch.uint8).to('cuda')\n"
        "other = torch.from_dlpack(kept_too)\n"
        "loss = (made(4).float().requires_grad_() * made(4, 1)).exp().sum()"
    )
    pid, ledger = notebook.kernel.provisioner.pid, fake_driver.ledger
    checked = await channel.park_check(notebook.kernel_id)
    assert isinstance(checked, ParkCheck) and checked.refused == [], checked
    named = {row.label: (row.kind, row.bytes) for row in checked.stays}
    hidden = checked.stays_bytes - 8 * MIB
    assert named == {
        "kept_too": ("memory with two owners", 4 * MIB),
        "other": ("memory with two owners", 4 * MIB),
        "held by the framework itself": ("no Python object", hidden),
    }
    assert hidden >= 16 * MIB
    assert checked.differs is not None and checked.differs > 0.05
    parked = await done(channel, notebook, "park")
    assert parked.ok and parked.moved == checked.bytes, parked
    assert ledger.held(pid, 0) > CONTEXT
    # The one memory of both: still there, and not somebody else's.
    back = await done(channel, notebook, "restore")
    assert back.ok
    assert await notebook.evaluate("other.data_ptr() == kept_too.data_ptr()")
    assert await notebook.evaluate("int(other.cpu().sum()) == 4 << 20")
    assert (await notebook.run("loss.backward()"))["status"] == "ok"


async def test_without_room_it_stays_parked(
    torch_kernel: Any, channel: KernelChannel, fake_driver: Any
) -> None:
    notebook = await torch_kernel("x = made(600); before = digest(x)")
    pid, ledger = notebook.kernel.provisioner.pid, fake_driver.ledger
    assert (await done(channel, notebook, "park")).ok
    taken = ledger.memory(0).free - 500 * MIB
    ledger.charge(1, 0, taken)
    reply = await notebook.run("y = x + 1")
    assert reply["status"] == "error"
    assert "the GPU has 0.5 GiB free, and 0.6 GiB are needed. Nothing is lost" in reply["evalue"]
    ledger.release(1, 0, taken)
    # Room, as it seems, but the driver gives none.
    ledger.inject("cudaMalloc", code=2)
    reply = await notebook.run("y = x + 1")
    assert reply["status"] == "error" and "OutOfMemoryError" in reply["evalue"]
    assert ledger.held(pid, 0) == CONTEXT
    ledger.clear_injected()
    assert await notebook.evaluate("digest(x) == before")


ANGRY = """
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
class Function(TorchFunctionMode):
    def __torch_function__(self, *_): raise RuntimeError
class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, *_): raise RuntimeError
modes = Dispatch(), Function()
for mode in modes: mode.__enter__()
"""
CALM = "for mode in reversed(modes): mode.__exit__(None, None, None)"


async def test_modes_that_the_user_has_entered_see_nothing(
    torch_kernel: Any, channel: KernelChannel
) -> None:
    notebook = await torch_kernel("x = made(4); before = digest(x)")
    assert (await notebook.run(ANGRY))["status"] == "ok"
    for op in ("park", "restore"):
        answer = await done(channel, notebook, op)
        assert answer.ok, answer
    await notebook.run(CALM)
    assert await notebook.evaluate("digest(x) == before")


async def test_an_interrupt_in_the_middle_of_the_copy_changes_nothing(
    torch_kernel: Any, channel: KernelChannel, fake_driver: Any
) -> None:
    notebook = await torch_kernel(
        "x = [made(100, n) for n in range(6)]; before = [digest(y) for y in x]\n"
        "import time; view = torch.frombuffer\n"
        "def slowly(*a, **k): time.sleep(0.3); return view(*a, **k)\n"
        "torch.frombuffer = slowly"
    )
    for op, held in (("park", 600 * MIB + CONTEXT), ("restore", CONTEXT)):
        if op == "restore":
            assert (await done(channel, notebook, "park")).ok
        running = asyncio.ensure_future(done(channel, notebook, op))
        await asyncio.sleep(1)
        await notebook.kernel.interrupt_kernel()
        failed = await running
        assert not failed.ok and failed.text is not None and "interrupted" in failed.text
        assert fake_driver.ledger.held(notebook.kernel.provisioner.pid, 0) == held
    assert await notebook.evaluate("[digest(y) for y in x] == before")
