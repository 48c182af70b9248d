"""Children with real CUDA builds. The tests here skip without the environment."""

from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .environment import CUDA


@pytest.fixture(scope="session")
def frameworks_python() -> Path:
    """The Python of the environment with CUDA builds; skips where it isn't set up."""
    named = os.environ.get(CUDA.variable)
    if not named:
        pytest.skip("The CUDA builds are not set up: npm run test:frameworks does it (5.5 GB).")
    return Path(named)


class Child:
    """A Python that runs what it is told and keeps its variables, as a notebook's kernel does."""

    def __init__(self, python: Path, environment: dict[str, str]) -> None:
        code = """
            import sys, traceback
            names = {}
            for line in sys.stdin:
                try:
                    exec(eval(line), names)
                except BaseException as error:
                    print(f"{type(error).__name__}: {error}")
                    sys.last_value = None
                print("\\0", flush=True)
        """
        self.process = subprocess.Popen(
            [python, "-c", textwrap.dedent(code)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def run(self, code: str) -> str:
        """What ``code`` printed; an error's type and text if it raised."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(repr(textwrap.dedent(code)) + "\n")
        self.process.stdin.flush()
        lines = []
        for line in iter(self.process.stdout.readline, "\0\n"):
            assert line, f"The child ended with {self.process.wait()}."
            lines.append(line)
        return "".join(lines).strip()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def child(fake_driver, frameworks_python) -> Iterator[Callable[..., Child]]:
    """Makes children on this test's simulated driver; ``preload`` for those that use PyTorch."""
    children = []

    def make(*, preload: bool = True, **variables: str) -> Child:
        environment = {**fake_driver.environment(preload=preload), **variables}
        children.append(Child(frameworks_python, environment))
        return children[-1]

    yield make
    for made in children:
        made.end()
