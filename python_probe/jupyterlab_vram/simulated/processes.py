"""Whether a process lives, and since when, on any system and without psutil."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PROC = Path("/proc/self/stat").exists()


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (field 22 of /proc/PID/stat).

    None: there is no such process, or it has ended and waits for its parent (the driver has freed
    its memory by then). 0: it lives, and this system doesn't tell since when.
    """
    if pid <= 0:
        return None
    if not _PROC:
        return 0 if _alive(pid) else None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name stands in parentheses and may itself hold any character.
    state, *rest = stat[stat.rindex(")") + 2 :].split()
    return None if state in "ZX" else int(rest[18])


def command_name(pid: int) -> str:
    """The short name of a process's command; empty where this system doesn't tell."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


if sys.platform == "win32":
    import ctypes

    def _alive(pid: int) -> bool:
        # os.kill would send an event here, or end the process.
        synchronize, timed_out = 0x100000, 0x102
        kernel32 = ctypes.windll.kernel32
        handle = kernel32.OpenProcess(synchronize, False, pid)
        if not handle:
            return False
        try:
            return bool(kernel32.WaitForSingleObject(handle, 0) == timed_out)
        finally:
            kernel32.CloseHandle(handle)

else:

    def _alive(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
