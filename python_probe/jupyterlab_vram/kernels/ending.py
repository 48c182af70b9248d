"""Ending one process, only if it is provably this user's and still the same process."""

from __future__ import annotations

import asyncio
import time

import psutil

from .. import __version__, wire
from . import processes
from .errors import NotYours

PATIENCE = 5.0
"""Seconds that a process gets to end by itself before it is killed."""

CLOCK_STEP = 2.0
"""Seconds by which the start time of one and the same process may seem to differ."""

_ENDABLE: frozenset[wire.HolderKind] = frozenset({"kernel", "leftover", "other-kernel"})


async def end(
    pid: int, started_at: float, snapshot: wire.Snapshot, patience: float = PATIENCE
) -> wire.Ended:
    """Ask a holder to end, then force it.

    Args:
        started_at: as an earlier snapshot gave it; another process with the same number differs.
        snapshot: a fresh one; only what holds GPU memory in it may be ended.

    Raises:
        NotYours: it may not be ended, and why.
    """
    try:
        process = psutil.Process(pid)
        _check(process, started_at, snapshot)
        name = processes.look(process).name or "The process"
        process.terminate()
        if await _gone(process, patience):
            return _ended(pid, True, f"{name} has ended.")
        process.kill()
        if await _gone(process, patience):
            return _ended(pid, True, f"{name} did not end when asked, so it was forced to.")
        stuck = process.status() == psutil.STATUS_DISK_SLEEP
    except psutil.NoSuchProcess:
        return _ended(pid, True, "This process had ended already.")
    except psutil.AccessDenied:
        raise NotYours("The system does not allow you to end this process.") from None
    if stuck:
        why = "It waits for the driver or a disk; only that, or restarting the computer, ends it."
    else:
        why = f"It still runs {2 * patience:.0f} s after it was asked."
    return _ended(pid, False, f"{name} could not be ended. {why}")


def _check(process: psutil.Process, started_at: float, snapshot: wire.Snapshot) -> None:
    rows = [row for row in snapshot.holders if row.pid == process.pid]
    if process.pid <= 4:
        raise NotYours("Processes of the system are never ended from here.")
    if abs(process.create_time() - started_at) > CLOCK_STEP:
        raise NotYours("That process has ended, and its number belongs to another one now.")
    if not rows:
        raise NotYours("This process holds no GPU memory, so it is not ended from here.")
    row = rows[0]
    if row.kind == "shared":
        raise NotYours("Other programs depend on this process; it is never ended from here.")
    if row.kind not in _ENDABLE:
        raise NotYours("Only processes that a notebook's kernel started can be ended from here.")
    if row.kind == "kernel" and row.role == "main":
        raise NotYours("This is the kernel itself: restart it or shut it down instead.")
    if processes.owner(process) != processes.owner(psutil.Process()):
        raise NotYours("This process belongs to another user.")


async def _gone(process: psutil.Process, seconds: float) -> bool:
    """Whether it ends in time. A zombie has ended: it holds nothing and waits for its parent."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        await asyncio.sleep(0.05)
    return False


def _ended(pid: int, ended: bool, text: str) -> wire.Ended:
    return wire.Ended(version=__version__, pid=pid, ended=ended, text=text)
