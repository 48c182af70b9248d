"""Real processes, arranged as kernels arrange them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil

GIB = 1 << 30


class Family:
    """Processes of one test; all of them end with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[str]] = []
        self._seen: list[psutil.Process] = []

    def start(self, code: str, *arguments: str, **environment: str) -> psutil.Process:
        """A Python that runs ``code``."""
        return self.command(sys.executable, "-c", code, *arguments, **environment)

    def command(self, *command: str, **environment: str) -> psutil.Process:
        started = subprocess.Popen(
            command,
            cwd=self._folder,
            env={**os.environ, **environment},
            text=True,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._started.append(started)
        process = psutil.Process(started.pid)
        self._seen.append(process)
        return process

    def told(self, process: psutil.Process) -> psutil.Process:
        """The process whose number ``process`` prints next."""
        [started] = [each for each in self._started if each.pid == process.pid]
        assert started.stdout is not None
        child = psutil.Process(int(started.stdout.readline()))
        self._seen.append(child)
        return child

    def reap(self, process: psutil.Process) -> None:
        """Kill one of ours and wait for it, as the kernel manager does."""
        [started] = [each for each in self._started if each.pid == process.pid]
        started.kill()
        started.wait()

    def end(self) -> None:
        for process in self._seen:
            if process.is_running():
                process.kill()
        for started in self._started:
            started.kill()
            started.wait()
            if started.stdout is not None:
                started.stdout.close()


def connection_file() -> str:
    return f"/somewhere/kernel-{uuid.uuid4()}.json"


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
