"""Random graphs of the real torch's tensors are parked and come back bit for bit.

All in one kernel, whose agent is called within the cell that made them: a road of its own for
speed; ``channel/test_park_torch.py`` takes the ordinary one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jupyter_client.manager import KernelManager
from jupyterlab_vram import agent

from . import kernelspec

BEGIN = f"""
import gc, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from park_graphs import STEPS, there_and_back
agent = get_ipython().kernel.shell_handlers[{agent.MESSAGE_TYPE!r}].__self__
there_and_back([(step, 1) for step in STEPS], agent)  # imports what torch imports late
gc.collect()
gc.freeze()  # torch's own 300,000 objects, for speed
"""

Run = Callable[[str], Any]


@pytest.fixture
def kernel(fake_driver: Any, frameworks_python: Path, tmp_path: Path, monkeypatch: Any) -> Any:
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    kernelspec.write(tmp_path, frameworks_python, fake_driver.driver, fake_driver.ledger.path)
    manager = KernelManager(kernel_name=kernelspec.NAME)
    client = manager.blocking_client

    def start(**variables: str) -> Run:
        manager.start_kernel(env={**os.environ, **variables})
        talk = client()
        talk.start_channels()
        talk.wait_for_ready(timeout=60)

        def run(code: str, **more: Any) -> Any:
            shown: list[str] = []
            reply = talk.execute_interactive(
                code, timeout=300, output_hook=lambda m: shown.append(str(m["content"])), **more
            )["content"]
            assert reply["status"] == "ok", "\n".join(reply["traceback"])
            return reply

        install = {"vram": agent.install_expression(time.time() + 60)}
        answer = run("", silent=True, user_expressions=install)["user_expressions"]["vram"]
        assert "error" not in answer["data"]["text/plain"], answer
        run(BEGIN)
        return run

    yield start
    manager.shutdown_kernel(now=True)


STEPS = [
    "checkpoint",
    "forget",
    "hidden",
    "inference",
    "model",
    "new",
    "parameter",
    "pending",
    "sparse",
    "stream",
    "subclass",
    "view",
]
PROGRAMS = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2**16)), max_size=8)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("count", "variables"),
    [
        pytest.param(1000, {}, id="1000"),
        pytest.param(
            100, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, id="100 expandable"
        ),
    ],
)
def test_random_graphs_come_back_bit_for_bit(
    kernel: Callable[..., Run], count: int, variables: dict[str, str]
) -> None:
    run = kernel(**variables)
    run(f"assert STEPS == {STEPS}")

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # a program is short as it is
        suppress_health_check=list(HealthCheck),
    )
    @given(PROGRAMS)
    def every(program: list[tuple[str, int]]) -> None:
        run(f"there_and_back({program!r}, agent)")

    every()
