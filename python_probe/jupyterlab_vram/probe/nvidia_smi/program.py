"""Finding and running nvidia-smi."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path


class TimeLimit(Exception):
    """The program did not end in time and was killed."""


@dataclass(frozen=True)
class Output:
    """What the program wrote to its two streams, and its exit code."""

    text: str
    errors: str
    code: int


def find() -> str | None:
    """Path of nvidia-smi: on PATH, or where WSL and Windows keep it."""
    return shutil.which("nvidia-smi") or next(
        (str(path) for path in _usual_places() if path.is_file()), None
    )


def _usual_places() -> list[Path]:
    if os.name != "nt":
        return [Path("/usr/lib/wsl/lib/nvidia-smi")]
    system = Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32"
    programs = Path(os.environ.get("PROGRAMW6432", r"C:\Program Files"))
    store = sorted(
        (system / "DriverStore" / "FileRepository").glob("nv*/nvidia-smi.exe"),
        key=lambda path: path.stat().st_mtime,
        reverse=True,
    )
    return [
        system / "nvidia-smi.exe",
        programs / "NVIDIA Corporation" / "NVSMI" / "nvidia-smi.exe",
        *store,
    ]


class Program:
    """Runs nvidia-smi, never twice at a time: one that can't even be killed blocks the next run."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._hanging: subprocess.Popen[bytes] | None = None

    def run(self, path: str, *arguments: str) -> Output:
        """Raises TimeLimit, and OSError if the program can't be started."""
        if self._hanging is not None and self._hanging.poll() is None:
            raise TimeLimit
        process = subprocess.Popen(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A group of its own, so that a wrapper script is killed with what it has started.
            start_new_session=True,
            # On Windows: no console window that flashes up.
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        try:
            text, errors = process.communicate(timeout=self._limit)
        except subprocess.TimeoutExpired as error:
            self._kill(process)
            raise TimeLimit from error
        # Names in the output may be in any encoding.
        return Output(
            text.decode("utf-8", "replace"), errors.decode("utf-8", "replace"), process.returncode
        )

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            # Stuck in the driver: the kernel ends it when the driver lets go of it.
            self._hanging = process
