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

IPYKERNEL_6 = os.environ.get("VRAM_TEST_IPYKERNEL6")
"""A Python that has ipykernel 6, which this environment can't have beside its own."""

FRAMEWORKS = os.environ.get("FRAMEWORKS_PYTHON")
"""A Python that has the CUDA build of torch (npm run test:frameworks)."""

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
        "six": ([IPYKERNEL_6, *module], "python"),
        "torch": ([FRAMEWORKS, *module], "python"),
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
        if name == "six" and IPYKERNEL_6 is None:
            pytest.skip("VRAM_TEST_IPYKERNEL6 names no Python that has ipykernel 6")
        if name == "torch" and FRAMEWORKS is None:
            pytest.skip("The CUDA build of torch is not set up: npm run test:frameworks does it.")
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
