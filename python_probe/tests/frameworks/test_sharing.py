"""Tensors that two processes share, as torch.multiprocessing does it, on the simulated driver."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.fake_driver, pytest.mark.timeout(120)]
MIB = 1 << 20
CONTEXT = 300 * MIB

SEND = """
import pickle, torch
from multiprocessing.reduction import ForkingPickler
import torch.multiprocessing
x = torch.arange(64 << 20, dtype=torch.uint8).cuda()
print(bytes(ForkingPickler.dumps(x)).hex())
"""


def receive(sent: str) -> str:
    return f"""
        import pickle, torch, torch.multiprocessing
        torch.cuda.init()
        x = pickle.loads(bytes.fromhex("{sent}"))
        print(x.is_cuda, x[250:260].cpu().tolist())
    """


def test_both_sides_see_one_memory_that_only_the_sender_holds(child, fake_driver):
    ledger, sender, receiver = fake_driver.ledger, child(), child()
    sent = sender.run(SEND)
    shown = receiver.run(receive(sent))
    assert shown == "True [250, 251, 252, 253, 254, 255, 0, 1, 2, 3]"
    receiver.run("x[:2].copy_(torch.tensor([7, 8], dtype=torch.uint8))")
    assert sender.run("print(x[:3].cpu().tolist())") == "[7, 8, 2]"
    zero = "import ctypes; fill = ctypes.CDLL('libcuda.so.1').cuMemsetD8_v2"
    sender.run(f"{zero}; fill(ctypes.c_uint64(x.data_ptr()), 0, ctypes.c_size_t(x.nbytes))")
    assert receiver.run("print(int(x.cpu().max()))") == "0"
    assert ledger.held(sender.pid, 0) == 64 * MIB + CONTEXT
    assert ledger.held(receiver.pid, 0) == CONTEXT
    assert receiver.run("print(torch.cuda.memory_allocated())") == "0"

    # PyTorch keeps what it has sent until the receiver has dropped it.
    sender.run("del x; torch.cuda.empty_cache()")
    assert ledger.held(sender.pid, 0) == 64 * MIB + CONTEXT
    receiver.run("del x; torch.cuda.ipc_collect()")
    sender.run("torch.cuda.ipc_collect(); torch.cuda.empty_cache()")
    assert ledger.held(sender.pid, 0) == CONTEXT

    sent = sender.run(SEND)
    sender.end()
    assert ledger.held(sender.pid, 0) == 0
    assert "invalid resource handle" in receiver.run(receive(sent))


def test_expandable_segments_cannot_be_shared(child):
    sender = child(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert "operation not supported" in sender.run(SEND)
