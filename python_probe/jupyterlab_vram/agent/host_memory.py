"""How much of the host's RAM is free, for data that is parked there. Runs in the user's kernel."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Limit(NamedTuple):
    """Free and total bytes, of the computer or of a control group (a container) around us."""

    free: int
    total: int


class Unknown(Exception):
    """It can't be read here; the text is a sentence."""


def limits(root: str = "/") -> list[Limit]:
    """All that apply to this process; the computer's first. Raises Unknown.

    Args:
        root: Where /proc and /sys are.

    Sources: /proc/meminfo, and every control group from this process's up (v2: memory.max,
    memory.current; v1: memory.limit_in_bytes, memory.usage_in_bytes; a limit's free part has the
    file cache that can be dropped, inactive_file of memory.stat, in it).
    """
    files = Path(root)
    return [_computer(files), *_groups(files)]


def left_after(limits: list[Limit], nbytes: int) -> float:
    """The share of the RAM, 0..1, that stays free under the tightest limit."""
    return max(0.0, min((limit.free - nbytes) / limit.total for limit in limits))


def _computer(files: Path) -> Limit:
    try:
        lines = (files / "proc/meminfo").read_text().splitlines()
        figures = {name: int(rest.split()[0]) << 10 for name, _, rest in _colons(lines)}
        return Limit(figures["MemAvailable"], figures["MemTotal"])
    except (OSError, KeyError, ValueError, IndexError):
        raise Unknown("How much RAM of this computer is free can't be read here.") from None


def _colons(lines: list[str]) -> list[tuple[str, str, str]]:
    return [line.partition(":") for line in lines]


def _groups(files: Path) -> list[Limit]:
    try:
        lines = (files / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []  # a kernel without control groups
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, names = "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            folder = "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # A container may see the path as the host does, of which only the end is mounted here.
        group = Path(path.strip("/"))
        for part in (group, *group.parents):
            limit = _group(files / folder / part, *names)
            if limit is not None:
                found.append(limit)
    return found


def _group(folder: Path, maximum: str, current: str, cache: str) -> Limit | None:
    """None where it has no limit of its own."""
    try:
        total = int((folder / maximum).read_text())  # "max" is no number
        used = int((folder / current).read_text())
        lines = (folder / "memory.stat").read_text().splitlines()
        figures = dict(line.split() for line in lines)
        return Limit(max(0, total - used + int(figures.get(cache, 0))), total) if total else None
    except (OSError, ValueError):
        return None
