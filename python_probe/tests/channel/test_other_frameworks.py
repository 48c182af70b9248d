"""What the agent tells of TensorFlow, JAX, CuPy, numba, RMM, vLLM and llama.cpp in real kernels.

The libraries are what tests/stand_ins/README.md says.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest
from fake_driver import boards
from jupyterlab_vram.kernels.answers import DeviceUse, Figures, RemedyDone, Row, Scan
from stories import MIB, Story, Tell
from test_frameworks_table import CUPY, JAX, NUMBA, RMM, TENSORFLOW

pytestmark = [pytest.mark.fake_driver, pytest.mark.timeout(300)]

CONTEXT = 300
CPU_BUILDS = pytest.mark.parametrize("kernel", ["cpu", "cpu-old"])
OLD_PYTHON = pytest.mark.parametrize(
    "kernel", ["now", pytest.param("python38", marks=pytest.mark.frameworks)]
)


async def figures(story: Story) -> Figures:
    told = await story.channel.figures(story.notebook.kernel_id)
    assert isinstance(told, Figures) and told.problems == {}, told
    return told


async def device(story: Story) -> DeviceUse:
    """The figures of the only GPU."""
    (only,) = (await figures(story)).frameworks[story.name].devices
    return only


async def rows(story: Story) -> list[Row]:
    scan = await story.channel.scan(story.notebook.kernel_id)
    assert isinstance(scan, Scan) and scan.ok, scan
    return scan.rows


# --- what merely is imported counts for nothing, and stays as it is -------------------------------

UNUSED = {
    "import tensorflow, jax\n"
    "from tensorflow.python.eager import context\n"
    "from jax._src import xla_bridge": "cpu",
    "from numba import cuda; assert cuda.is_available()": "torch",
    "import cupy, rmm, vllm, llama_cpp": "now",
}
"""Cells that import, and the kernels that can."""
UNTOUCHED = {
    "cpu": "not context.context()._initialized and not xla_bridge._backends",
    "torch": "cuda.gpus.lst[0]._device.primary_context is None",
    "now": "'vllm.entrypoints.llm' not in sys.modules",
}


@pytest.mark.parametrize(
    ("cell", "kernel"),
    [
        pytest.param(*unused, marks=[] if unused[1] == "now" else pytest.mark.frameworks)
        for unused in UNUSED.items()
    ],
    ids=UNUSED.values(),
)
async def test_what_is_only_imported_stays_unused(tell: Tell, cell: str, kernel: str) -> None:
    story = await tell("none", f"import sys\n{cell}\nmodules = set(sys.modules)", kernel=kernel)
    assert (await figures(story)).frameworks == {}
    for remedy in ("collect", "release-cache", "clear-session"):
        done = await story.channel.remedy(story.notebook.kernel_id, remedy)
        assert isinstance(done, RemedyDone) and done.ok and done.after == {}, done
    assert await rows(story) == []
    assert (await figures(story)).frameworks == {}
    assert story.held() == 0
    woken = await story.notebook.evaluate("sorted(set(sys.modules) - modules)")
    assert set(woken) <= sys.stdlib_module_names
    assert await story.notebook.evaluate(UNTOUCHED[kernel]) is True


# --- TensorFlow -----------------------------------------------------------------------------------


@pytest.mark.frameworks
@CPU_BUILDS
async def test_tensorflows_figures_and_tensors(tell: Tell, kernel: str) -> None:
    story = await tell(
        "tensorflow",
        TENSORFLOW,
        "import tensorflow as tf\n"
        "weights = tf.Variable(tf.zeros([5 << 20], tf.float32))\n"
        "gone = take(30); del gone\n"
        "small = take(1)",
        kernel=kernel,
    )
    told = await device(story)
    assert (told.index, told.uuid) == (0, story.ledger.state().devices[0].uuid)
    assert (told.live, told.peak) == (21 * MIB, 50 * MIB)
    # What TensorFlow doesn't tell, and what it never gives back.
    assert (told.cached, told.limit, told.releasable) == (None, None, 0)
    framework = (await figures(story)).frameworks["tensorflow"]
    assert framework.keeps is not None and "until its process ends" in framework.keeps
    assert framework.session is not None

    weights, small = await rows(story)
    assert (weights.label, weights.bytes, weights.shape) == ("weights", 20 * MIB, [5 << 20])
    assert (weights.kind, weights.dtype, weights.count) == ("ResourceVariable", "float32", 1)
    assert (small.label, small.bytes, small.dtype) == ("small", MIB, "uint8")

    await story.notebook.run(
        "from tensorflow.python.eager import context\n"
        "own = context.context()\n"
        "[card] = [card for card in own._visible_device_list if card.device_type == 'GPU']\n"
        "part = context.LogicalDeviceConfiguration(memory_limit=2048)\n"
        "own._virtual_device_map[card] = [part]"
    )
    assert (await device(story)).limit == 2048 * MIB


@pytest.mark.frameworks
@CPU_BUILDS
async def test_clear_session_is_keras_own(tell: Tell, kernel: str) -> None:
    story = await tell(
        "tensorflow",
        TENSORFLOW,
        "import keras\n"
        "model = keras.Sequential([keras.layers.Dense(1024)]); model.build((None, 1024))\n"
        "names = [keras.layers.Dense(1).name, keras.layers.Dense(1).name]",
        kernel=kernel,
    )
    await story.run("clear-session")
    first, second = await story.notebook.evaluate("names")
    assert first != second
    # Keras counts from the start again, and the model is still there.
    assert await story.notebook.evaluate("keras.layers.Dense(1).name") == "dense"
    (row,) = [row for row in await rows(story) if row.bytes is not None and row.bytes > MIB]
    # Keras 2 has some numbers of its own there besides.
    assert (row.label, row.kind, row.bytes // 1024) == ("model", "Sequential", 4100)
    assert (await story.run("delete", names=["model"])).live == 4


# --- JAX ------------------------------------------------------------------------------------------


@pytest.mark.frameworks
@CPU_BUILDS
async def test_jax_figures_and_arrays(tell: Tell, kernel: str) -> None:
    story = await tell(
        "jax",
        JAX,
        "kept = take(20); same = kept.addressable_data(0)\n"
        "gone = take(30); del gone\n"
        "deleted = take(10); deleted.delete()",
        kernel=kernel,
    )
    told = await device(story)
    assert (told.index, told.uuid) == (0, story.ledger.state().devices[0].uuid)
    assert (told.live, told.cached, told.peak) == (20 * MIB, 30 * MIB, 50 * MIB)
    assert told.releasable == 0
    (row,) = await rows(story)  # two names, one buffer
    assert row.label in ("kept", "same")
    assert (row.bytes, row.kind, row.dtype) == (20 * MIB, "Array", "uint8")

    # Release lets go of compiled code, and JAX goes on.
    await story.notebook.run(
        "import jax; double = jax.jit(lambda x: 2 * x); double(kept).block_until_ready(); None"
    )
    assert await story.notebook.evaluate("double._cache_size()") == 1
    await story.run("release-cache")
    assert await story.notebook.evaluate("double._cache_size()") == 0
    assert await story.notebook.evaluate("int(double(kept).sum())") == 0


@pytest.mark.frameworks
async def test_jax_without_a_pool_counts_its_arrays(tell: Tell) -> None:
    story = await tell(
        "jax", JAX, "kept = take(20)", kernel="cpu", XLA_PYTHON_CLIENT_ALLOCATOR="platform"
    )
    told = await device(story)
    assert (told.live, told.cached, told.peak, told.releasable) == (20 * MIB, None, None, None)
    assert (await figures(story)).frameworks["jax"].keeps is None


@pytest.mark.frameworks
async def test_a_jax_array_on_two_gpus_has_a_part_on_each(tell: Tell) -> None:
    story = await tell(
        "jax",
        JAX,
        "import jax, numpy\n"
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec\n"
        "sharding = NamedSharding(Mesh(numpy.array(jax.devices()), ('i',)), PartitionSpec('i'))\n"
        "spread = jax.device_put(numpy.zeros(20 << 20, numpy.uint8), sharding)",
        kernel="cpu",
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )
    told = await rows(story)
    assert {(row.label, row.device, row.bytes) for row in told} == {
        ("spread", 0, 10 * MIB),
        ("spread", 1, 10 * MIB),
    }


# --- CuPy -----------------------------------------------------------------------------------------


@OLD_PYTHON
async def test_cupys_pools_and_views(tell: Tell, kernel: str) -> None:
    story = await tell(
        "cupy",
        CUPY,
        "kept = take(20); view = kept.view()\n"
        "gone = take(30); del gone\n"
        "pool = cupy.cuda.MemoryPool(); cupy.cuda.set_allocator(pool.malloc)\n"
        "own = take(10)",
        kernel=kernel,
    )
    told = await device(story)
    assert (told.index, told.uuid) == (0, story.ledger.state().devices[0].uuid)
    assert (told.live, told.cached, told.releasable) == (30 * MIB, 30 * MIB, None)
    assert [row.bytes for row in await rows(story)] == [20 * MIB, 10 * MIB]
    assert (await story.run("release-cache")).driver == 30
    released = await story.notebook.evaluate("cupy.get_default_pinned_memory_pool().released")
    assert released == 1


@OLD_PYTHON
async def test_what_cupy_has_cut_up_is_not_promised(tell: Tell, kernel: str) -> None:
    story = await tell("cupy", CUPY, "whole = take(30); del whole; part = take(20)", kernel=kernel)
    told = await device(story)
    assert (told.live, told.cached, told.releasable) == (20 * MIB, 10 * MIB, None)
    assert (await story.run("release-cache")).driver == 0
    await story.notebook.run("del part")
    told = await device(story)
    assert (told.cached, told.releasable) == (30 * MIB, 30 * MIB)
    assert (await story.run("release-cache")).driver == 30


@OLD_PYTHON
async def test_cupy_without_a_pool_does_not_know(tell: Tell, kernel: str) -> None:
    story = await tell(
        "cupy", CUPY, "cupy.cuda.set_allocator(None); kept = take(20)", kernel=kernel
    )
    told = await device(story)
    assert (told.live, told.cached) == (None, 0)
    assert [row.bytes for row in await rows(story)] == [20 * MIB]


@OLD_PYTHON
async def test_cupys_second_gpu_is_asked_and_the_first_left_alone(
    tell: Tell, fake_driver: Any, kernel: str
) -> None:
    fake_driver.load({"devices": [boards.RTX4090, boards.RTX4090]})
    story = await tell(
        "cupy", CUPY, "cupy.cuda.runtime.setDevice(1); gone = take(30); del gone", kernel=kernel
    )
    told = await device(story)
    assert (told.index, told.uuid) == (1, story.ledger.state().devices[1].uuid)
    assert told.cached == 30 * MIB
    await story.run("release-cache")
    assert story.ledger.memory(1).used == CONTEXT * MIB
    assert story.held() == 0  # no context came into being on the first
    assert await story.notebook.evaluate("cupy.cuda.runtime.getDevice()") == 1


# --- numba ----------------------------------------------------------------------------------------


@pytest.mark.frameworks
async def test_numbas_allocations_and_views(tell: Tell) -> None:
    story = await tell(
        "numba",
        NUMBA,
        "kept = take(20); view = kept[5 << 20:]\n"
        "pinned = cuda.pinned_array(8 << 20, dtype=numpy.uint8)\n"
        "gone = take(30); del gone",
        kernel="torch",
    )
    told = await device(story)
    assert (told.index, told.uuid) == (0, story.ledger.state().devices[0].uuid)
    assert (told.live, told.cached, told.releasable) == (20 * MIB, 30 * MIB, 30 * MIB)
    (row,) = await rows(story)
    assert (row.bytes, row.kind) == (20 * MIB, "DeviceNDArray")
    assert (await story.run("release-cache")).driver == 30
    # The context is as it was: numba goes on.
    await story.notebook.run("again = take(10)")
    assert (await device(story)).live == 30 * MIB


# --- RMM ------------------------------------------------------------------------------------------


@OLD_PYTHON
async def test_rmm_tells_what_its_chain_counts(tell: Tell, kernel: str) -> None:
    story = await tell(
        "rmm",
        RMM,
        "kept = take(20); gone = take(30); del gone",
        kernel=kernel,
    )
    told = await device(story)
    assert (told.live, told.cached, told.peak) == (20 * MIB, 30 * MIB, 50 * MIB)
    assert (told.releasable, told.limit) == (0, None)
    assert (await figures(story)).frameworks["rmm"].keeps is not None
    assert [(row.label, row.bytes) for row in await rows(story)] == [("kept", 20 * MIB)]


@OLD_PYTHON
async def test_rmm_keeps_memory_only_where_it_has_a_pool(tell: Tell, kernel: str) -> None:
    story = await tell("rmm", "import rmm\nkept = rmm.DeviceBuffer(size=20 << 20)", kernel=kernel)
    assert (await figures(story)).frameworks["rmm"].keeps is None
    await story.tell(
        "rmm.mr.set_current_device_resource(\n"
        "    rmm.mr.LimitingResourceAdaptor(\n"
        "        rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource()), 1 << 30))"
    )
    assert "pool" in ((await figures(story)).frameworks["rmm"].keeps or "")


@OLD_PYTHON
async def test_rmm_that_does_not_count_does_not_know(tell: Tell, kernel: str) -> None:
    story = await tell("rmm", "import rmm\nkept = rmm.DeviceBuffer(size=20 << 20)", kernel=kernel)
    told = await device(story)
    assert (told.live, told.cached, told.peak) == (None, 0, None)
    assert (await figures(story)).frameworks["rmm"].keeps is None
    limiting = (
        "rmm.mr.set_current_device_resource(\n"
        "    rmm.mr.LimitingResourceAdaptor(rmm.mr.CudaMemoryResource(), 1 << 30))\n"
        "more = rmm.DeviceBuffer(size=10 << 20)"
    )
    await story.notebook.run(limiting)
    told = await device(story)
    assert (told.live, told.cached, told.limit) == (10 * MIB, 0, 1 << 30)


# --- engines --------------------------------------------------------------------------------------


@OLD_PYTHON
async def test_llama_cpp_is_recognised(tell: Tell, kernel: str) -> None:
    story = await tell(
        "llama.cpp",
        "import llama_cpp; model = llama_cpp.Llama('a file', n_gpu_layers=-1)",
        kernel=kernel,
    )
    told = await device(story)
    assert (told.live, told.cached, told.releasable) == (None, None, 0)
    keeps = (await figures(story)).frameworks["llama.cpp"].keeps
    assert keeps is not None and "until the model is closed" in keeps
    assert str(await story.run("collect", "release-cache")) == "— / 0"
    assert str(await story.run("delete", names=["model"])) == "— / 256"


@OLD_PYTHON
async def test_vllm_is_recognised_while_its_engine_runs(tell: Tell, kernel: str) -> None:
    story = await tell("vllm", "import vllm; llm = vllm.LLM('a model')", kernel=kernel)
    assert story.held() == 256 + CONTEXT  # the engine's, in a child
    told = await device(story)
    assert (told.live, told.cached, told.releasable) == (None, None, 0)
    keeps = (await figures(story)).frameworks["vllm"].keeps
    assert keeps is not None and "until its engine ends" in keeps
    assert str(await story.run("collect", "release-cache")) == "— / 0"
    # Here nothing else refers to it.
    assert str(await story.run("delete", names=["llm"])) == f"— / {256 + CONTEXT}"
    assert (await figures(story)).frameworks == {}
