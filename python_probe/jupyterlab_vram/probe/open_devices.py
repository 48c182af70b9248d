"""Whether processes have the GPU open, without calling the driver (which would wake the GPU)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .. import wire

GPU_FILE = re.compile(r"/dev/(nvidia\d+|nvidia-uvm|dxg)$")
"""What a process has open that uses the GPU; ``/dev/nvidiactl`` alone only asks about it."""


def gpu_in_use_by(pids: Iterable[int], source: wire.Source = "nvml") -> bool:
    """Whether any of these processes or their children has a GPU open.

    For the simulated GPU: has an entry in the ledger. False where the system doesn't tell: without
    /proc (macOS, Windows), and for other users' processes.
    """
    family = _with_children(pids)
    if source == "simulated":
        from ..simulated.ledger import Ledger

        with Ledger.open() as ledger:
            holders = {process.pid for process in ledger.state().processes}
        return any(pid in holders for pid in family)
    return any(_has_gpu_open(pid) for pid in family)


def _with_children(pids: Iterable[int]) -> Iterator[int]:
    seen: set[int] = set()
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        yield pid
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                waiting += map(int, children.read_text().split())
            except OSError:
                continue  # The process or thread has just ended.


def _has_gpu_open(pid: int) -> bool:
    try:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            try:
                if GPU_FILE.match(str(file.readlink())):
                    return True
            except FileNotFoundError:
                continue  # Closed in the meantime.
    except OSError:
        return False  # Ended, another user's, or no /proc.
    return False
