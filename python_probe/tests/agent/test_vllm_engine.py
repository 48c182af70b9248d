"""vLLM's own way to park: its engines sleep and wake. With the stand-in of tests/stand_ins."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from jupyterlab_vram import agent

pytestmark = pytest.mark.fake_driver

MIB = 1 << 20
CONTEXT = 300
PROBE = Path(__file__).parents[2]


def run(fake_driver: Any, tmp_path: Path, body: str) -> Any:
    """What a program with the agent's file in it printed, as JSON; ``held()`` is the GPU's."""
    program = tmp_path / "program.py"
    engine = tmp_path / "vllm_engine.py"
    engine.write_text(agent.sources()["vllm_engine"])
    program.write_text(
        "import json, vllm, vllm_engine\n"
        "from jupyterlab_vram.simulated.ledger import Ledger\n"
        "def held(): return Ledger.open().memory(0).used >> 20\n"
        "if __name__ == '__main__':\n"  # its children import it
        + textwrap.indent(textwrap.dedent(body), "    ")
    )
    paths = map(str, (tmp_path, PROBE / "tests" / "stand_ins", PROBE))
    environment = {**fake_driver.environment(), "PYTHONPATH": ":".join(paths)}
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_its_engines_sleep_and_wake(fake_driver: Any, tmp_path: Path) -> None:
    steps = run(
        fake_driver,
        tmp_path,
        """
        engines = [vllm.LLM("a model", enable_sleep_mode=True) for _ in range(2)]
        told = [vllm_engine.park_refused(vllm), held()]
        told += [vllm_engine.park(vllm), held()]
        told += [vllm_engine.restore(vllm), held()]
        print(json.dumps(told))
        """,
    )
    awake, asleep = 2 * (256 + CONTEXT), 2 * CONTEXT
    assert steps == [None, awake, 2, asleep, 2, awake]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("llm = vllm.LLM('a model')", "made without enable_sleep_mode=True"),
        ("", "no LLM object refers to it"),
    ],
)
def test_one_that_cannot_sleep_is_refused(
    fake_driver: Any, tmp_path: Path, made: str, why: str
) -> None:
    refused = run(
        fake_driver, tmp_path, f"{made}\nprint(json.dumps(vllm_engine.park_refused(vllm)))"
    )
    assert why in refused
