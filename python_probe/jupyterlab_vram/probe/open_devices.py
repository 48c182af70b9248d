"""Whether processes have the GPU open, without calling the driver (which would wake the GPU)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .. import wire

GPU_FILE = re.compile(r"/dev/(nvidia\d+|nvidia-uvm|dxg)$")
"""What a process has open that uses the GPU; ``/dev/nvidiactl`` alone only asks about it."""

DRIVER_LIBRARY = re.compile(r"/libcuda\.so")
"""Loaded by whatever computes on the GPU, also where its device files have other names."""


def gpu_in_use_by(pids: Iterable[int], source: wire.Source = "nvml") -> bool:
    """Whether any of these processes or their children has a GPU open.

    For the simulated GPU: has an entry in the ledger. False where the system doesn't tell: without
    /proc (macOS, Windows), and for other users' processes.
    """
    family = _with_children(pids)
    if source == "simulated":
        holders = _in_ledger()
        return any(pid in holders for pid in family)
    return any(_has_gpu_open(pid) for pid in family)


def opens_gpu(pid: int, source: wire.Source = "nvml") -> bool | None:
    """Whether this process itself uses a GPU; None where the system doesn't tell.

    Tells a process that the driver names from one that merely has the same number here: the
    driver may name the processes of another container.
    """
    if source == "simulated":
        return pid in _in_ledger()
    opened = _has_gpu_open(pid)
    if opened is False:
        try:
            return bool(
                DRIVER_LIBRARY.search(Path(f"/proc/{pid}/maps").read_text(errors="replace"))
            )
        except OSError:
            return None
    return opened


def _in_ledger() -> set[int]:
    from ..simulated.ledger import Ledger, LedgerError

    try:
        with Ledger.open() as ledger:
            return {process.pid for process in ledger.state().processes}
    except (LedgerError, OSError):
        return set()  # A reading says what is wrong with it.


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


def _has_gpu_open(pid: int) -> bool | None:
    try:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            try:
                if GPU_FILE.match(str(file.readlink())):
                    return True
            except FileNotFoundError:
                continue  # Closed in the meantime.
    except OSError:
        return None  # Ended, another user's, or no /proc.
    return False
