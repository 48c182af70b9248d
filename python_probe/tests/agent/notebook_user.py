"""Notebooks in IPython processes of their own, see ``notebook_child.py``."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1]
AGENT = PACKAGE / "jupyterlab_vram" / "agent"
MIB = 1 << 20

SIMULATED = """
from jupyterlab_vram import simulated

def take(mib):
    return simulated.empty(mib << 20, dtype="int8")
"""


class Child:
    """A Python that runs notebooks, one after the other and each anew."""

    def __init__(self, python: str, prelude: str, **variables: str) -> None:
        self._prelude = prelude
        self._process = subprocess.Popen(
            [python, str(HERE / "notebook_child.py"), str(AGENT)],
            env={**os.environ, "PYTHONPATH": str(PACKAGE), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, cells: Sequence[str], *ops: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        """What the notebook's agent answered to each of the operations.

        The first cell makes ``take(mib)``; the cells given are numbered from 2.
        """
        assert self._process.stdin and self._process.stdout
        request = {"cells": [self._prelude, *cells], "ops": ops}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer.strip(), "the notebook's process has ended"
        return dict(json.loads(answer))

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)
