"""Real kernels, started by a real server whose activity watching is on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from channel_user import Notebook
from jupyterlab_vram.kernels.activity import leave_no_trace
from jupyterlab_vram.kernels.channel import KernelChannel
from stories import PROBE, STAND_INS, Story

CACHED = {
    "six": "VRAM_TEST_IPYKERNEL6",
    "python38": "VRAM_TEST_PYTHON38",
    "python313": "VRAM_TEST_PYTHON313",
    "torch": "FRAMEWORKS_PYTHON",
    "cpu": "VRAM_TEST_CPU",
    "cpu-old": "VRAM_TEST_CPU_OLD",
}
"""Kernels in cached environments (npm run test:frameworks), and the variables that name their
Pythons: ipykernel 6, the same with Python 3.8, today's with Python 3.13, the CUDA builds of torch
and numba, the CPU builds of TensorFlow, Keras and JAX."""

OTHER_KERNEL = """
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp

class Other(IPythonKernel):
    implementation = "other"

IPKernelApp.launch_instance(kernel_class=Other)
"""


@pytest.fixture
def kernels(jp_serverapp: Any, tmp_path: Path) -> Any:
    """The server's kernel manager, with kernels of several kinds to start."""
    manager = jp_serverapp.kernel_manager
    leave_no_trace(manager, jp_serverapp.web_app.settings)
    module = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
    specs = {
        "now": ([sys.executable, *module], "python"),
        **{
            name: ([os.environ.get(variable), *module], "python")
            for name, variable in CACHED.items()
        },
        "other": ([sys.executable, "-c", OTHER_KERNEL, "-f", "{connection_file}"], "python"),
        "not-python": ([sys.executable, *module], "R"),
    }
    for name, (argv, language) in specs.items():
        folder = tmp_path / "kernels" / name
        folder.mkdir(parents=True)
        spec = {"argv": argv, "language": language, "display_name": name}
        (folder / "kernel.json").write_text(json.dumps(spec))
    manager.kernel_spec_manager.kernel_dirs.append(str(tmp_path / "kernels"))
    return manager


@pytest.fixture
def channel(kernels: Any) -> Iterator[KernelChannel]:
    channel = KernelChannel(kernels)
    yield channel
    channel.close()


@pytest.fixture
def start(kernels: Any, jp_asyncio_loop: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Starts kernels and sits down at them."""
    notebooks: list[Notebook] = []

    async def start(name: str = "now", **variables: str) -> Notebook:
        if name in CACHED and not os.environ.get(CACHED[name]):
            pytest.skip(f"{CACHED[name]} names no Python: npm run test:frameworks sets them up.")
        env = {**os.environ, "VRAM_SIMULATED_LEDGER": str(tmp_path / "ledger")}
        env["PYTHONPATH"] = str(Path(__file__).parents[2])
        env.update(variables)
        kernel_id = await kernels.start_kernel(kernel_name=name, env=env)
        notebook = Notebook(kernels, kernel_id)
        notebooks.append(notebook)
        await notebook.ready()
        return notebook

    yield start
    for notebook in notebooks:
        notebook.close()
        if notebook.kernel_id in kernels:
            jp_asyncio_loop.run_until_complete(
                kernels.shutdown_kernel(notebook.kernel_id, now=True)
            )


@pytest.fixture
def tell(start: Any, channel: KernelChannel, fake_driver: Any) -> Any:
    """Starts a kernel on the simulated driver and runs cells in it: ``tell(framework, *cells,
    kernel=, **variables)``. Kernels without the CUDA builds find the stand-ins."""

    async def tell(name: str, *cells: str, kernel: str = "now", **variables: str) -> Story:
        own = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
        if kernel != "torch":
            own["PYTHONPATH"] = os.pathsep.join(map(str, (STAND_INS, PROBE)))
        environment = fake_driver.environment(preload=name == "torch")
        notebook = await start(kernel, **{**environment, **own, **variables})
        story = Story(name, notebook, channel, fake_driver.ledger)
        await story.tell(*cells)
        return story

    return tell
