"""The agent's text: what it may be made of, and that it answers wherever it lands."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jupyterlab_vram import agent


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


def test_what_is_sent_lacks_nothing_but_remarks() -> None:
    def code(source: str) -> str:
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(getattr(node, "body", None), list):
                node.body = [  # type: ignore[attr-defined]
                    statement
                    for statement in node.body  # type: ignore[attr-defined]
                    if not isinstance(statement, ast.Expr)
                    or not isinstance(statement.value, ast.Constant)
                ]
        return ast.dump(tree)

    for name, source in agent.sources().items():
        bare = agent.without_remarks(source)
        assert code(bare) == code(source), name
        assert bare.count("\n") == source.rstrip("\n").count("\n"), name
        assert "#" not in bare or len(bare) < len(source)


def test_it_fits_in_sixty_kilobytes() -> None:
    assert len(agent.install_expression(time.time()).encode()) <= 60 * 1024


def interpreter(minor: int) -> str | None:
    """A Python 3.minor of this machine that can start, else None."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [shutil.which(f"python3.{minor}")]
    candidates += map(str, sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python")))
    for candidate in filter(None, candidates):
        done = subprocess.run([candidate, "-V"], capture_output=True, text=True)
        # a pyenv shim is there for every version, and fails for those that aren't chosen
        if done.returncode == 0 and f" 3.{minor}." in done.stdout:
            return candidate
    return None


RUN = """
import base64, json, sys, types, zlib
given = {}
exec(compile(TEXT, "agent", "exec"), given)
packed, frameworks, *rest = given["AGENT"]
modules = given["Modules"](json.loads(zlib.decompress(base64.b85decode(packed))))
for name in list(modules.sources):
    modules[name]
for name, module in frameworks:
    # one whose import has only begun
    sys.modules[module] = types.ModuleType(module)
    assert modules[name].loaded() is None, name
    del sys.modules[module]
print(len(modules), sorted(name for name in sys.modules if "vram" in name))
"""


@pytest.mark.parametrize("minor", range(8, 15))
def test_every_python_runs_all_of_it(minor: int) -> None:
    """Compiles and runs each file, and asks each adapter whether its framework is there."""
    python = interpreter(minor)
    if python is None:
        pytest.skip(f"there is no Python 3.{minor} here: only the syntax was checked, as 3.8's")
    program = f"TEXT = {agent.text()!r}\n{RUN}"
    done = subprocess.run([python, "-I", "-"], input=program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(maxsplit=1) == [str(len(agent.sources())), "[]\n"]
    # No kernel there, so the answer is a sentence about that: the text itself has run.
    program = f"print({agent.install_expression(time.time() + 60)})"
    done = subprocess.run(
        [python, "-I", "-"], input=program, capture_output=True, text=True, check=True
    )
    assert "ipy" in json.loads(done.stdout)["error"].lower()
