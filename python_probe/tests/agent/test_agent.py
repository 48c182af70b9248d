"""The agent's text: what it may be made of, and that it answers wherever it lands."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time

import pytest
from jupyterlab_vram import agent

OLD_PYTHON = os.environ.get("VRAM_TEST_PYTHON38")


def programs() -> list[str]:
    """The text, and the sources that it carries."""
    return [agent.text(), *agent.sources().values()]


def answer(start_before: float) -> dict[str, object]:
    return dict(json.loads(eval(agent.install_expression(start_before))))


def test_it_is_python_3_8_and_imports_nothing_but_the_standard_library() -> None:
    imported = set()
    for program in programs():
        for node in ast.walk(ast.parse(program, feature_version=(3, 8))):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                imported.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                imported.update(name.name.partition(".")[0] for name in node.names)
    assert agent.FRAMEWORKS.keys() <= agent.sources().keys()
    assert imported - sys.stdlib_module_names == {"IPython"}


def test_it_carries_its_version() -> None:
    assert agent.version() in agent.text()
    assert len(agent.version()) == 16


def test_the_server_imports_none_of_it() -> None:
    code = (
        "import sys; from jupyterlab_vram import agent, kernels\n"
        "import jupyterlab_vram.kernels.channel\n"
        "agent.text(); print([m for m in sys.modules if m.startswith(agent.__name__ + '.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_outside_of_an_ipykernel_it_says_so() -> None:
    error = str(answer(time.time() + 5)["error"])
    assert error == (
        "TypeError: this kernel is not an ipykernel, it has no place for message handlers"
    )


def test_too_late_it_installs_nothing() -> None:
    assert str(answer(time.time() - 1)["error"]).startswith("TimeoutError: the kernel was busy")


@pytest.mark.frameworks
@pytest.mark.skipif(OLD_PYTHON is None, reason="VRAM_TEST_PYTHON38 names no Python 3.8")
def test_python_3_8_runs_it() -> None:
    assert OLD_PYTHON is not None
    # No kernel there, so the answer is a sentence about that: the text itself has run.
    program = f"print({agent.install_expression(time.time() + 60)})"
    done = subprocess.run(
        [OLD_PYTHON, "-"], input=program, capture_output=True, text=True, check=True
    )
    assert "ipy" in json.loads(done.stdout)["error"].lower()
