"""Run a command with the cached environments: ``python -m frameworks COMMAND…``

They are made first where they are missing; without a command that is all. The command finds their
Pythons in FRAMEWORKS_PYTHON, VRAM_TEST_IPYKERNEL6, VRAM_TEST_PYTHON38, VRAM_TEST_PYTHON313,
VRAM_TEST_CPU and VRAM_TEST_CPU_OLD.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from fake_driver.build import NoCompiler, build

from .environment import (
    CPU,
    CPU_OLD,
    CUDA,
    IPYKERNEL_6,
    PYTHON_3_8,
    PYTHON_3_13,
    Environment,
    NoPython,
    Unavailable,
)


def wanted() -> Iterator[Environment]:
    """The environments that are of use here; says which are not."""
    yield IPYKERNEL_6
    for environment, what in (
        (PYTHON_3_8, "a kernel with Python 3.8"),
        (PYTHON_3_13, "a kernel with Python 3.13"),
        (CPU, "TensorFlow, Keras 3 and JAX"),
        (CPU_OLD, "an older TensorFlow, Keras 2 and JAX"),
    ):
        try:
            environment.base()
        except NoPython as error:
            skip(what, error)
        else:
            yield environment
    try:
        build()
    except NoCompiler as error:
        skip("the CUDA builds", error)
    else:
        yield CUDA


def skip(what: str, why: Exception) -> None:
    print(f"The tests of {what} are skipped. {why}", file=sys.stderr, flush=True)


def main(command: list[str]) -> int:
    with ExitStack() as used:
        pythons = {
            environment.variable: str(used.enter_context(environment.in_use()))
            for environment in wanted()
        }
        return subprocess.call(command, env={**os.environ, **pythons}) if command else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Unavailable as error:
        sys.exit(str(error))
