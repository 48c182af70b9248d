"""The agent's adapter for torch, with the CUDA build on the simulated driver."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jupyterlab_vram
import pytest
from fake_driver import boards

pytestmark = [pytest.mark.frameworks, pytest.mark.fake_driver, pytest.mark.timeout(300)]

AGENT = Path(jupyterlab_vram.__file__).parent / "agent"
MIB = 1 << 20
CONTEXT = 300 * MIB

START = f"""
import gc, json, pathlib, time, types, warnings
import torch
agent = pathlib.Path({str(AGENT)!r})
bootstrap = types.ModuleType("bootstrap")
exec(compile((agent / "bootstrap.py").read_text(), "bootstrap", "exec"), bootstrap.__dict__)
sources = {{file.stem: file.read_text() for file in agent.glob("*.py")}}
adapter = bootstrap.Modules(sources)["torch_gpu"]
def sizes(thing):
    assert adapter.is_array(torch, type(thing))
    found = adapter.storages(torch, thing)
    assert len({{address for address, _, _ in found}}) == len(found)
    assert {{device for _, _, device in found}} <= {{0}}
    return sorted(size for _, size, _ in found)
def show(thing): print(json.dumps(thing))
"""


@pytest.fixture
def torch(child: Callable[..., Any]) -> Callable[..., Any]:
    """Runs code beside the adapter; what it showed."""

    def started(**variables: str) -> Callable[[str], Any]:
        process = child(**variables)
        assert process.run(START) == ""

        def run(code: str) -> Any:
            shown = process.run(textwrap.dedent(code))
            return json.loads(shown) if shown else None

        run.pid = process.pid  # type: ignore[attr-defined]
        return run

    return started


HOSTILE = """
def refuses(cls, function, types, args=(), kwargs=None):
    raise SystemError(f"the class was asked: {function}")

class Hooked(torch.Tensor):
    __torch_function__ = classmethod(refuses)
    @property
    def shape(self): raise SystemError("shape")
    @property
    def dtype(self): raise SystemError("dtype")
    @property
    def grad(self): raise SystemError("grad")
    def untyped_storage(self): raise SystemError("storage")
    def __len__(self): raise SystemError("len")
    def __eq__(self, other): raise SystemError("eq")
    __hash__ = None

class Wrapper(torch.Tensor):
    def __new__(cls, inner, **policies):
        return torch.Tensor._make_wrapper_subclass(
            cls, (100,), dtype=torch.float32, device="cuda", **policies
        )
    def __init__(self, inner, **policies):
        self.inner = inner
    __torch_function__ = classmethod(refuses)
    __torch_dispatch__ = classmethod(refuses)

class Slotted(torch.Tensor):
    __slots__ = ("inner",)
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, (100,), device="cuda")
        made.inner = inner
        return made
    __torch_dispatch__ = classmethod(refuses)

x = torch.empty(1000, device="cuda")
"""


KINDS = {
    "x": [4000],
    "x[10:20]": [4000],
    "torch.nn.Parameter(x)": [4000],
    "x.untyped_storage()": [4000],
    "torch.ones(3)": [],
    "torch.ones(3).pin_memory()": [],
    "torch.empty(3, device='meta')": [],
    "torch.nn.parameter.UninitializedParameter(device='cuda')": [],
    "x.as_subclass(Hooked)": [4000],
    "Wrapper(x)": [4000],
    "Wrapper(Wrapper(x.clone()))": [4000],
    "Wrapper(x, dispatch_sizes_strides_policy='sizes', dispatch_device=True)": [4000],
    "Wrapper(x, dispatch_layout=True)": [4000],
    "Slotted(x)": [4000],
    "TwoTensor(x, x.clone())": [4000, 4000],
    "torch.sparse_coo_tensor(indices, values, (9, 9), **unchecked)": [40, 160],
    "torch.sparse_csr_tensor(rows, columns, values, (9, 9), **unchecked)": [40, 80, 80],
    "torch.sparse_csc_tensor(rows, columns, values, (9, 9), **unchecked)": [40, 80, 80],
    "torch.nested.nested_tensor(two, layout=torch.jagged)": [24, 256],
    "torch.nested.nested_tensor(two)": [256],
    "torch._empty_affine_quantized((4, 4), scale=1, zero_point=0, **quantised)": [16],
    "FakeTensorMode().from_tensor(x)": [],
    "functional(x)": [],
    "leaked[0]": [],
    "emptied": [],
}
"""An expression to the sizes of the storages behind its value."""


def test_storages_of_every_kind_of_tensor(torch) -> None:
    run = torch()
    run(HOSTILE)
    run(
        """
        warnings.simplefilter("ignore")
        from torch.testing._internal.two_tensor import TwoTensor
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
        def functional(tensor):
            with FunctionalTensorMode():
                return FunctionalTensor.to_functional(tensor)
        indices = torch.zeros(2, 10, dtype=torch.long, device="cuda")
        rows, columns = indices[0].clone(), indices[0].clone()
        values = torch.ones(10, device="cuda", requires_grad=True)
        unchecked = dict(check_invariants=False)
        two = [torch.ones(3, 8, device="cuda"), torch.ones(5, 8, device="cuda")]
        quantised = dict(dtype=torch.quint8, device="cuda")
        leaked = []
        torch.func.vmap(lambda row: leaked.append(row) or row + 1)(two[0])
        emptied = torch.empty(100, device="cuda")
        emptied.untyped_storage().resize_(0)
        """
    )
    assert {kind: run(f"thing = {kind}; show(sizes(thing))") for kind in KINDS} == KINDS
    for kind in KINDS:
        described = run(f"show(adapter.describe(torch, {kind}))")
        assert set(described) == {"kind", "shape", "dtype"}, kind


def test_looking_changes_and_asks_nothing(torch) -> None:
    run = torch()
    run(HOSTILE)
    run(
        """
        class Meta(type):
            def __getattribute__(cls, name): raise SystemError(name)
        class Strange(metaclass=Meta): pass
        def look(thing):
            before = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = sizes(thing)
                adapter.gradient(torch, thing), adapter.describe(torch, thing)
            assert before == (torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated())
            return found
        """
    )
    assert run("show(adapter.is_array(torch, Strange))") is False
    # a lazy clone stays one, and is the same memory
    assert run("lazy = torch._lazy_clone(x); show(look(lazy))") == [4000]
    assert run("show([torch._C._is_cow_tensor(lazy), len(look(x))])") == [True, 1]
    assert run("show(adapter.storages(torch, lazy) == adapter.storages(torch, x))") is True
    # a mode that was entered and never left
    run("mode = torch.utils._python_dispatch.TorchDispatchMode")
    run(
        """
        class Refuses(mode):
            def __torch_dispatch__(self, *_): raise SystemError("the mode was asked")
        coo = torch.sparse_coo_tensor(
            torch.zeros(2, 9, dtype=torch.long, device="cuda"), x[:9], (9, 9),
            check_invariants=False,
        )
        refuses = Refuses(); refuses.__enter__()
        """
    )
    assert run("show(look(coo))") == [144, 4000]
    run("refuses.__exit__(None, None, None)")
    assert run("y = (torch.nn.Parameter(x) * 2); show(look(y))") == [4000]
    assert run("show(adapter.gradient(torch, y))") is None
    run("p = torch.nn.Parameter(x.clone()); (p * 2).sum().backward()")
    assert run("show(sizes(adapter.gradient(torch, p)))") == [4000]
    assert run("h = x.as_subclass(Hooked); show(adapter.describe(torch, h))") == {
        "kind": "Hooked",
        "shape": [1000],
        "dtype": "float32",
    }


def test_ten_thousand_tensors_take_no_time(torch) -> None:
    run = torch()
    run("many = [torch.nn.Parameter(torch.empty(9, device='cuda')) for _ in range(10_000)]")
    run("start = time.perf_counter(); found = [adapter.storages(torch, t) for t in many]")
    seconds, count = run("show([time.perf_counter() - start, sum(map(len, found))])")
    assert count == 10_000
    assert seconds < 0.25


MAKES = {
    "fragments": """
        parts = [torch.empty(5 << 20, dtype=torch.uint8, device="cuda") for _ in range(40)]
        del parts[1::2]
    """,
    "pages": """
        parts = [torch.empty(47 << 20, dtype=torch.uint8, device="cuda") for _ in range(9)]
        del parts[1:3], parts[4]
    """,
    "whole segments": """
        parts = [torch.empty(40 << 20, dtype=torch.uint8, device="cuda") for _ in range(4)]
        small = [torch.empty(100, device="cuda") for _ in range(4000)]
        del parts[1:3], small[::2]
    """,
    "everything": """
        torch.empty(100 << 20, dtype=torch.uint8, device="cuda"); torch.empty(9, device="cuda")
    """,
}


@pytest.mark.parametrize("settings", ["", "expandable_segments:True"])
@pytest.mark.parametrize("made", MAKES)
def test_releasable_is_what_a_release_gives_back(torch, fake_driver, made, settings) -> None:
    run = torch(PYTORCH_CUDA_ALLOC_CONF=settings)
    run(MAKES[made])
    before = fake_driver.ledger.held(run.pid, 0)
    (device,) = run("show(adapter.devices(torch))")
    assert before == device["live"] + device["cached"] + CONTEXT
    assert (device["releasable"] == 0) is (made == "fragments")
    run("adapter.release(torch)")
    assert before - fake_driver.ledger.held(run.pid, 0) == device["releasable"]


def test_private_pools_are_told_and_not_expected_back(torch, fake_driver) -> None:
    run = torch()
    run(
        """
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            kept = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
            dropped = torch.empty(40 << 20, dtype=torch.uint8, device="cuda")
            del dropped
        """
    )
    (device,) = run("show(adapter.devices(torch))")
    assert (device["cached"], device["releasable"]) == (40 * MIB, 0)
    (row,) = run("show(adapter.hidden(torch))")
    assert (row["kind"], row["bytes"], row["key"]) == ("private pool", 40 * MIB, None)
    before = fake_driver.ledger.held(run.pid, 0)
    run("adapter.release(torch)")
    assert fake_driver.ledger.held(run.pid, 0) == before


def test_the_matrix_librarys_workspace_is_known_and_comes_back(torch, fake_driver) -> None:
    run = torch()
    run("a = torch.ones(64, 64, device='cuda'); b = a @ a; del a, b; adapter.release(torch)")
    (row,) = run("show(adapter.hidden(torch))")
    assert row["label"] == "cuBLAS workspace"
    assert run("show(torch.cuda.memory_allocated())") == row["bytes"] > 8 * MIB
    run("adapter.release(torch)")
    assert fake_driver.ledger.held(run.pid, 0) > CONTEXT
    run("graph = torch.cuda.CUDAGraph(); adapter.clear_session(torch)")
    assert run("show(len(adapter.hidden(torch)))") == 1, "a graph may use it"
    run("del graph; adapter.clear_session(torch); adapter.release(torch)")
    assert fake_driver.ledger.held(run.pid, 0) == CONTEXT
    assert run("show(adapter.hidden(torch))") == []


def test_dynamo_is_reset_where_it_was_used_and_else_not_imported(torch) -> None:
    run = torch()
    run("import sys; torch.empty(1, device='cuda'); sys.modules.pop('torch._dynamo', None)")
    assert run("adapter.clear_session(torch); show('torch._dynamo' in sys.modules)") is False
    run("import torch._dynamo; calls = []; torch._dynamo.reset = lambda: calls.append(1)")
    assert run("adapter.clear_session(torch); show(calls)") == [1]


def test_a_limit_is_told_without_making_a_context(torch, fake_driver) -> None:
    fake_driver.load({"devices": [boards.RTX4090, boards.RTX4090]})
    run = torch()
    run("torch.cuda.init()")
    looks = "before = torch.cuda.max_memory_allocated(1); devices = adapter.devices(torch)"
    run(looks)
    assert [fake_driver.ledger.held(run.pid, index) for index in (0, 1)] == [0, 0]
    run("torch.cuda.set_per_process_memory_fraction(0.5, 1)")
    held = [fake_driver.ledger.held(run.pid, index) for index in (0, 1)]
    run(looks)
    assert [fake_driver.ledger.held(run.pid, index) for index in (0, 1)] == held
    run("x = torch.empty(9, device='cuda:1'); torch.cuda.reset_peak_memory_stats(1)")
    held = [fake_driver.ledger.held(run.pid, index) for index in (0, 1)]
    run(looks)
    assert [fake_driver.ledger.held(run.pid, index) for index in (0, 1)] == held
    assert run("show(before == torch.cuda.max_memory_allocated(1))") is True
    assert run("show(torch.cuda.current_device())") == 0
    total = run("show(torch.cuda.get_device_properties(1).total_memory)")
    assert run("show([d['limit'] for d in devices])") == [None, total // 2]


def test_eight_gpus_are_told_by_uuid_in_fifty_milliseconds(torch, fake_driver) -> None:
    fake_driver.load({"devices": [boards.RTX4090] * 8})
    uuids = [device.uuid for device in fake_driver.ledger.state().devices]
    run = torch(CUDA_VISIBLE_DEVICES="3,1,2,0,7,6,5,4")
    run(
        """
        kept = [torch.empty(9, device=f"cuda:{n % 8}") for n in range(10_000)]
        adapter.devices(torch)
        start = time.perf_counter(); devices = adapter.devices(torch)
        seconds = time.perf_counter() - start
        """
    )
    assert run("show([d['uuid'] for d in devices])") == [uuids[n] for n in (3, 1, 2, 0, 7, 6, 5, 4)]
    assert run("show(seconds)") < 0.05


def test_a_slice_is_told_as_the_driver_spells_it(torch, fake_driver) -> None:
    fake_driver.load(boards.SLICED)
    slices = [device.uuid for device in fake_driver.ledger.state().devices][1:]
    for uuid in slices:
        run = torch(CUDA_VISIBLE_DEVICES=uuid)
        run("x = torch.empty(9, device='cuda')")
        assert run("show([d['uuid'] for d in adapter.devices(torch)])") == [uuid]


def test_older_versions_tell_less(torch) -> None:
    """What was added since torch 2.0 is taken away; no older build runs on the simulated driver."""
    run = torch()
    run(
        """
        x = torch.empty(1000, device="cuda")
        p = torch.nn.Parameter(x)
        snapshot = torch.cuda.memory_snapshot
        torch.cuda.memory_snapshot = lambda: snapshot()
        del torch.cuda.get_per_process_memory_fraction
        for name in (
            "_dispatch_keys", "_is_cow_tensor", "_data_address", "_cuda_clearCublasWorkspaces",
            "_cuda_getCublasWorkspaceSize", "_cuda_getCublasLtWorkspaceSize",
        ):
            delattr(torch._C, name)
        properties = torch.cuda.get_device_properties
        torch.cuda.get_device_properties = lambda index: types.SimpleNamespace(
            name=properties(index).name, total_memory=properties(index).total_memory
        )
        """
    )
    (device,) = run("show(adapter.devices(torch))")
    assert (device["uuid"], device["limit"], device["live"]) == (None, None, 4096)
    assert run("show([sizes(x), sizes(p), adapter.hidden(torch)])") == [[4000], [4000], []]
    run("adapter.clear_session(torch); adapter.release(torch)")


def test_hip_spells_its_uuid_as_text(torch) -> None:
    """A stand-in for the ROCm build, which needs an AMD card."""
    run = torch()
    run(
        """
        torch.empty(1, device="cuda")
        torch.version.hip = "7.0"
        torch.cuda.get_device_properties = lambda index: types.SimpleNamespace(
            uuid=types.SimpleNamespace(bytes=list(b"8a7b1c2d3e4f5a6b")), name="AMD", total_memory=1
        )
        """
    )
    (device,) = run("show(adapter.devices(torch))")
    assert device["uuid"] == "GPU-8a7b1c2d3e4f5a6b"
