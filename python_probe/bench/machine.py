"""The machine that is measured: eight simulated GPUs, read through the simulated driver in C."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fake_driver.build import build
from jupyterlab_vram.simulated.files import ENVIRONMENT
from jupyterlab_vram.simulated.ledger import Ledger

GPUS = 8
PROCESSES = 30


@contextmanager
def eight_gpus() -> Iterator[tuple[Ledger, dict[str, str]]]:
    """The machine's ledger, and the environment of a process that is to see it.

    Raises NoCompiler without gcc.
    """
    driver = build()
    with tempfile.TemporaryDirectory(prefix="vram-bench-") as folder:
        path = Path(folder) / "ledger"
        with Ledger.create(path, "eight") as ledger:
            yield ledger, {**os.environ, **driver.environment(path)}


def read_here(ledger: Ledger) -> None:
    """Let this very process read the machine, by nvidia-ml-py as it is."""
    # A library that was loaded by its path is found by its name from then on; it takes the ledger
    # that the variable names at its first call.
    os.environ[ENVIRONMENT] = str(ledger.path)
    ctypes.CDLL(str(build().nvml))


@contextmanager
def thirty_processes(ledger: Ledger, environment: dict[str, str]) -> Iterator[None]:
    """Real processes with the driver's library loaded, that the driver lists, spread over all GPUs.

    What they hold is arranged: the simulated driver would look into /proc for what they took
    themselves, at each call, which no real driver does.
    """
    code = "import ctypes; ctypes.CDLL('libcuda.so.1'); print(flush=True); input()"
    holders = [
        subprocess.Popen(
            [sys.executable, "-IS", "-c", code],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(PROCESSES)
    ]
    try:
        for number, holder in enumerate(holders):
            assert holder.stdout is not None and holder.stdout.readline() == b"\n"
            ledger.add_process(holder.pid, number % GPUS, "2 GiB", name="python")
        yield
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()
