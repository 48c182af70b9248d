"""Streams, CUDA graphs and private pools of the real CUDA build on the simulated driver."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.fake_driver, pytest.mark.timeout(120)]
MIB = 1 << 20
CONTEXT = 300 * MIB

SETUP = """
import torch
take = lambda mib: torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
def segments():
    return [(s["total_size"] >> 20, s["segment_pool_id"]) for s in torch.cuda.memory_snapshot()]
"""


def test_copies_on_streams_are_bit_for_bit(child):
    torch = child()
    torch.run(SETUP)
    shown = torch.run(
        """
        there, back = torch.cuda.Stream(), torch.cuda.Stream()
        x = torch.randint(0, 256, (40 << 20,), dtype=torch.uint8).pin_memory()
        with torch.cuda.stream(there):
            on_device = x.to("cuda", non_blocking=True)
            clone = on_device.clone()
            done = there.record_event()
        back.wait_event(done)
        with torch.cuda.stream(back):
            returned = clone[5:].to("cpu", non_blocking=True)
        back.synchronize()
        print(torch.equal(returned, x[5:]))
        made_on = {s["stream"] for s in torch.cuda.memory_snapshot()}
        print(made_on == {there.cuda_stream}, there.priority, back.query())
        """
    )
    assert shown.splitlines() == ["True", "True 0 True"]


def test_copies_reach_over_the_parts_of_an_expandable_segment(child):
    torch = child(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    torch.run(SETUP)
    shown = torch.run(
        """
        x = torch.randint(0, 256, (70 << 20,), dtype=torch.uint8)
        print(torch.equal(x.cuda().cpu(), x))
        """
    )
    assert shown == "True"


def test_a_graph_keeps_its_pool_until_it_is_reset(child, fake_driver):
    ledger, torch = fake_driver.ledger, child()
    torch.run(SETUP)
    torch.run(
        """
        x = take(40)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = x * 2
        graph.replay()
        torch.cuda.synchronize()
        """
    )
    assert "(40, (1, 0))" in torch.run("print(segments())")
    held = ledger.held(torch.pid, 0)
    torch.run("del x, result; torch.cuda.empty_cache()")
    assert held - ledger.held(torch.pid, 0) == 40 * MIB  # x's; the graph's 40 stay
    torch.run("graph.reset(); torch.cuda.empty_cache()")
    assert held - ledger.held(torch.pid, 0) == 80 * MIB


def test_other_streams_join_a_capture(child):
    torch = child()
    torch.run(SETUP)
    shown = torch.run(
        """
        side, graph, x = torch.cuda.Stream(), torch.cuda.CUDAGraph(), take(2)
        capturing = torch.cuda.is_current_stream_capturing
        with torch.cuda.graph(graph):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                joined, y = capturing(), x + 1
            torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.stream(side):
            print(joined, capturing())
        """
    )
    assert shown == "True False"


def test_waiting_breaks_a_capture(child):
    torch = child()
    torch.run(SETUP)
    broken = torch.run(
        """
        x, graph = take(2), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x + 1
            torch.cuda.current_stream().synchronize()
        """
    )
    assert "operation failed due to a previous error during capture" in broken
    assert torch.run("print((x + 1).shape)") == "torch.Size([2097152])"


def test_what_is_captured_is_not_done(child):
    torch = child()
    torch.run(SETUP)
    shown = torch.run(
        """
        x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
        one = torch.ones(4).cuda()
        with torch.cuda.graph(graph):
            x.copy_(one)
        print(x.cpu().tolist())
        """
    )
    assert shown == "[0.0, 0.0, 0.0, 0.0]"


def test_callables_are_graphed(child):
    torch = child()
    torch.run(SETUP)
    shown = torch.run(
        """
        model, sample = torch.nn.Linear(64, 64).cuda(), torch.randn(8, 64, device="cuda")
        graphed = torch.cuda.make_graphed_callables(model, (sample.requires_grad_(),))
        graphed(torch.randn(8, 64, device="cuda")).sum().backward()
        print(model.weight.grad.shape, any(pool == (0, 1) for _, pool in segments()))
        """
    )
    assert shown == "torch.Size([64, 64]) True"


def test_a_pool_of_the_users_own_gives_back_when_it_is_dropped(child, fake_driver):
    ledger, torch = fake_driver.ledger, child()
    torch.run(SETUP)
    torch.run(
        """
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            x = take(32)
        """
    )
    assert torch.run("print(segments())") == "[(32, (0, 1))]"
    torch.run("del x; torch.cuda.empty_cache()")
    assert ledger.held(torch.pid, 0) == 32 * MIB + CONTEXT
    torch.run("del pool; torch.cuda.empty_cache()")
    assert ledger.held(torch.pid, 0) == CONTEXT
