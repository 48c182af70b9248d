"""Other programs' readings, each in a process of its own: gpustat changes nvidia-ml-py in place.

``python -m bench.peers NAME`` makes as many readings as a line of its input says, and answers with
the mean seconds of one.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def nvitop() -> Callable[[], Any]:
    """What nvitop's monitor asks for at each tick: the devices and their processes."""
    from nvitop import Device, GpuProcess

    devices = Device.all()

    def read() -> Any:
        snapshots = [device.as_snapshot() for device in devices]
        found = [process for device in devices for process in device.processes().values()]
        return snapshots, GpuProcess.take_snapshots(found, failsafe=True)

    return read


def gpustat() -> Callable[[], Any]:
    from gpustat import new_query

    return lambda: new_query()


def processes_seen(name: str, answer: Any) -> int:
    return len(answer[1]) if name == "nvitop" else sum(len(gpu.processes) for gpu in answer)


class Peer:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.processes = int(self._line())
        """How many it sees."""

    def seconds(self, readings: int) -> float:
        """Mean of so many readings."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{readings}\n")
        self._process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("The peer has ended; its error is above.")
        return line


@contextmanager
def peer(name: str, environment: dict[str, str]) -> Iterator[Peer]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.peers", name],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Peer(process)
        assert process.stdin is not None
        process.stdin.close()


def main(name: str) -> None:
    read = {"nvitop": nvitop, "gpustat": gpustat}[name]()
    sys.stdout.write(f"{processes_seen(name, read())}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        began = time.perf_counter()
        for _ in range(int(line)):
            read()
        sys.stdout.write(f"{(time.perf_counter() - began) / int(line)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
