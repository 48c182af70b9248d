"""What each remedy returns in a real kernel with each framework: the rows of docs/frameworks.md."""

from __future__ import annotations

import pytest
from frameworks_table import (
    CPU_BUILD,
    SIMULATED_DRIVER,
    STAND_IN,
    Row,
    engine_stays,
    pool_returns,
    pool_stays,
)
from stories import LEAKS, VARIABLE, Freed, Story, Tell

pytestmark = [pytest.mark.fake_driver, pytest.mark.timeout(300)]

CONTEXT = 300
TORCH = """
import torch
def take(mib): return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
"""
NUMBA = """
import numpy
from numba import cuda
def take(mib): return cuda.device_array(mib << 20, dtype=numpy.uint8)
"""
CUPY = """
import cupy
def take(mib): return cupy.empty(mib << 20, "uint8")
"""
RMM = """
import rmm
pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource())
rmm.mr.set_current_device_resource(rmm.mr.StatisticsResourceAdaptor(pool))
def take(mib): return rmm.DeviceBuffer(size=mib << 20)
"""
TENSORFLOW = """
import simulated_tensorflow
simulated_tensorflow.install()
take = simulated_tensorflow.take
"""
JAX = """
import simulated_jax
simulated_jax.install()
take = simulated_jax.take
"""


async def measure(story: Story, row: Row) -> None:
    """Run every remedy in turn."""
    measured = row.measured
    measured["release-cache"] = await story.run("release-cache")
    measured["collect"] = await story.run("collect", "release-cache")
    measured["unpin"] = await story.run("unpin-exceptions", "unpin-outputs")
    measured["park"] = await story.parked()
    measured["delete"] = await story.run("delete", names=["kept"])
    measured["clear-session"] = await story.cleared()
    measured["restart"] = await story.restarted()
    row.compare()


@pytest.mark.frameworks
async def test_torch(tell: Tell) -> None:
    more = {"park": Freed(VARIABLE, VARIABLE), "clear-session": Freed(0, 0)}
    expected = {**pool_returns(CONTEXT), **more}
    row = Row("PyTorch 2.14", SIMULATED_DRIVER, "its allocator's statistics", expected)
    await measure(await tell("torch", TORCH, *LEAKS, kernel="torch"), row)


@pytest.mark.frameworks
async def test_numba(tell: Tell) -> None:
    row = Row("numba-cuda 0.30", SIMULATED_DRIVER, "its allocations", pool_returns(CONTEXT))
    await measure(await tell("numba", NUMBA, *LEAKS, kernel="torch"), row)


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("kernel", "name"),
    [("cpu", "TensorFlow 2.21, Keras 3.15"), ("cpu-old", "TensorFlow 2.15, Keras 2.15")],
)
async def test_tensorflow(tell: Tell, kernel: str, name: str) -> None:
    expected = {**pool_stays(CONTEXT), "clear-session": Freed(0, 0)}
    row = Row(name, CPU_BUILD, "`get_memory_info`", expected)
    await measure(await tell("tensorflow", TENSORFLOW, *LEAKS, kernel=kernel), row)


@pytest.mark.frameworks
@pytest.mark.parametrize(("kernel", "name"), [("cpu", "JAX 0.10"), ("cpu-old", "JAX 0.4.20")])
async def test_jax(tell: Tell, kernel: str, name: str) -> None:
    row = Row(name, CPU_BUILD, "`memory_stats`", pool_stays(CONTEXT))
    await measure(await tell("jax", JAX, *LEAKS, kernel=kernel), row)


async def test_cupy(tell: Tell) -> None:
    row = Row("CuPy 14.2", STAND_IN, "its pools", pool_returns(CONTEXT))
    await measure(await tell("cupy", CUPY, *LEAKS), row)


async def test_rmm(tell: Tell) -> None:
    row = Row("RMM 26.10 (cuDF)", STAND_IN, "a counting resource", pool_stays(CONTEXT))
    await measure(await tell("rmm", RMM, *LEAKS), row)


async def test_vllm(tell: Tell) -> None:
    # The engine is a child with a context of its own.
    row = Row("vLLM 0.33", STAND_IN, "none", engine_stays(256 + CONTEXT, 0))
    await measure(await tell("vllm", "import vllm; kept = vllm.LLM('a model')"), row)


async def test_vllm_with_sleep_mode(tell: Tell) -> None:
    expected = {**engine_stays(256 + CONTEXT, 0), "park": Freed(None, 256)}
    row = Row("vLLM 0.33, sleep mode on", STAND_IN, "none", expected)
    cell = "import vllm; kept = vllm.LLM('a model', enable_sleep_mode=True)"
    await measure(await tell("vllm", cell), row)


async def test_llama_cpp(tell: Tell) -> None:
    row = Row("llama.cpp (Python 0.3)", STAND_IN, "none", engine_stays(256, CONTEXT))
    cell = "import llama_cpp; kept = llama_cpp.Llama('a file', n_gpu_layers=-1)"
    await measure(await tell("llama.cpp", cell), row)
