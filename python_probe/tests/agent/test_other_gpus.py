"""The torch adapter on GPUs that nobody here has: stand-ins for torch's modules, that say so."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest
from jupyterlab_vram import agent
from jupyterlab_vram.agent.bootstrap import Modules

Loaded = Callable[[Any], Any]


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Loaded:
    """The adapter, in a process that has imported this torch."""

    def load(torch: Any) -> Any:
        monkeypatch.setitem(sys.modules, "torch", torch)
        return Modules(agent.sources())["torch_gpu"]

    return load


def refuses(*_: object) -> Any:
    raise AssertionError("the GPU was touched")


def xpu(used: bool) -> Any:
    """An Intel GPU, as torch.xpu tells of it."""
    stats = {
        "allocated_bytes.all.current": 300,
        "allocated_bytes.all.peak": 500,
        "reserved_bytes.all.current": 1000,
        "active_bytes.all.current": 310,
        "inactive_split_bytes.all.current": 90,
    }
    released: list[str] = []
    touched: Callable[..., Any] = (lambda answer: lambda *_: answer) if used else lambda _: refuses
    return types.SimpleNamespace(
        released=released,
        version=types.SimpleNamespace(hip=None),
        cuda=types.SimpleNamespace(is_initialized=lambda: False, memory_stats=refuses),
        _C=types.SimpleNamespace(_has_mps=False),
        xpu=types.SimpleNamespace(
            is_initialized=lambda: used,
            device_count=touched(1),
            memory_stats=touched(stats),
            get_device_properties=touched(
                types.SimpleNamespace(uuid="8680a021-0000-0000-0300-000000000000")
            ),
            empty_cache=lambda: released.append("xpu"),
        ),
    )


def test_xpu(adapter: Loaded) -> None:
    torch = xpu(used=True)
    module = adapter(torch)
    assert module.loaded() is torch
    assert module.devices(torch) == [
        {
            "index": 0,
            "uuid": "8680a021-0000-0000-0300-000000000000",
            "live": 300,
            "cached": 700,
            "releasable": 600,
            "context": None,
            "peak": 500,
            "limit": None,
        }
    ]
    assert module.hidden(torch) == []
    module.release(torch)
    assert torch.released == ["xpu"]


def test_an_xpu_that_is_not_used_is_not_touched(adapter: Loaded) -> None:
    assert adapter(xpu(used=False)).loaded() is None


def mps(allocator: Callable[[], bool] | None) -> Any:
    """An Apple GPU; ``allocator`` tells whether torch has made its allocator, as newer ones do."""
    used = allocator is not None and allocator()
    c = types.SimpleNamespace(_has_mps=True)
    if allocator is not None:
        c._accelerator_isAllocatorInitialized = allocator
    return types.SimpleNamespace(
        version=types.SimpleNamespace(hip=None),
        cuda=types.SimpleNamespace(is_initialized=lambda: False, memory_stats=refuses),
        _C=c,
        mps=types.SimpleNamespace(
            current_allocated_memory=(lambda: 300) if used else refuses,
            driver_allocated_memory=(lambda: 1000) if used else refuses,
        ),
    )


def test_mps(adapter: Loaded) -> None:
    torch = mps(lambda: True)
    module = adapter(torch)
    assert module.loaded() is torch
    [device] = module.devices(torch)
    assert (device["live"], device["cached"], device["releasable"]) == (300, 700, None)
    assert device["uuid"] is None


@pytest.mark.parametrize("allocator", [None, lambda: False])
def test_an_mps_of_which_nobody_knows_whether_it_is_used_is_not_touched(
    adapter: Loaded, allocator: Callable[[], bool] | None
) -> None:
    assert adapter(mps(allocator)).loaded() is None
