"""The two example notebooks, cell by cell in real kernels, on the simulated GPU."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel
from jupyterlab_vram.simulated.ledger import Ledger

ROOT = Path(__file__).parents[3]
GIB = 1 << 30


class Kernel:
    def __init__(self, ledger: Ledger) -> None:
        env = {**os.environ, "VRAM_SIMULATED_LEDGER": str(ledger.path)}
        env["PYTHONPATH"] = str(ROOT / "python_probe")
        self.manager, self.client = start_new_kernel(env=env)
        assert self.manager.provisioner is not None
        self.pid: int = self.manager.provisioner.pid

    def run(self, code: str) -> dict[str, Any]:
        reply = self.client.execute_interactive(code, timeout=60, output_hook=lambda _: None)
        return dict(reply["content"])

    def run_notebook(self, name: str) -> list[dict[str, Any]]:
        notebook = json.loads((ROOT / "examples" / name).read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert all(not cell["outputs"] for cell in cells)
        return [self.run("".join(cell["source"])) for cell in cells]

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger")


@pytest.fixture
def kernels(ledger: Ledger) -> Iterator[list[Kernel]]:
    kernels = [Kernel(ledger), Kernel(ledger)]
    yield kernels
    for kernel in kernels:
        kernel.close()


def test_the_second_fails_until_the_first_gives_its_cache_back(
    ledger: Ledger, kernels: list[Kernel]
) -> None:
    first, second = kernels
    assert {reply["status"] for reply in first.run_notebook("first-notebook.ipynb")} == {"ok"}
    assert ledger.held(first.pid, 0) == 18 * GIB + (300 << 20)

    setup, last = second.run_notebook("second-notebook.ipynb")
    assert setup["status"] == "ok"
    assert last["ename"] == "OutOfMemoryError"
    assert f"Process {first.pid} has 18.29 GiB memory in use." in last["evalue"]

    first.run("simulated.empty_cache()")
    assert ledger.held(first.pid, 0) == 6 * GIB + (300 << 20)
    assert second.run("model = take(total / 3)")["status"] == "ok"
