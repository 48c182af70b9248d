"""Facts about processes, by psutil. A process is (pid, start time): a ``psutil.Process``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

NAME_LIMIT = 100
"""Characters of a process name that are worth showing."""

_CONNECTION_FILE = re.compile(r"(?:^|[/\\=])kernel-([^/\\]+)\.json$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What this system tells about a process; None where it refuses."""

    started_at: float | None
    name: str | None
    owner: int | str | None
    """User id, on Windows the user's name."""
    command: tuple[str, ...] = ()
    zombie: bool = False


def look(process: psutil.Process) -> Facts:
    """Read a process once.

    Raises:
        psutil.NoSuchProcess: it ended meanwhile.
    """
    with process.oneshot():
        return Facts(
            started_at=_started_at(process),
            name=_name(process),
            owner=owner(process),
            command=_command(process),
            zombie=_zombie(process),
        )


def owner(process: psutil.Process) -> int | str | None:
    """Whose process it is; comparable with ``owner`` of another process."""
    try:
        return process.uids().real if hasattr(process, "uids") else process.username()
    except psutil.AccessDenied:
        return None


def ancestors(process: psutil.Process) -> Iterator[psutil.Process]:
    """Parents, the nearest first. Stops quietly where one is gone or a number was reused."""
    seen = {process.pid}
    try:
        parent = process.parent()
        while parent is not None and parent.pid not in seen:
            yield parent
            seen.add(parent.pid)
            parent = parent.parent()
    except psutil.Error:
        return


def kernel_of_command(command: tuple[str, ...]) -> str | None:
    """The id in a kernel's connection file, which kernels of every language get as an argument."""
    for argument in command:
        match = _CONNECTION_FILE.search(argument)
        if match:
            return match[1]
    return None


@dataclass(frozen=True, slots=True)
class Inherited:
    """What jupyter puts into a kernel's environment, which its children inherit."""

    server: int | None
    """JPY_PARENT_PID: the process that started the kernel."""
    session: str | None
    """JPY_SESSION_NAME: the notebook's path on disk when the kernel started."""

    def __bool__(self) -> bool:
        return self.server is not None or self.session is not None


def inherited(process: psutil.Process) -> Inherited:
    """What ``process`` inherited; empty where its environment can't be read."""
    try:
        environment = process.environ()
    except (psutil.Error, OSError):
        return Inherited(None, None)
    server = environment.get("JPY_PARENT_PID", "")
    # on Windows this is a handle, which means nothing in another process
    usable = os.name == "posix" and server.isascii() and server.isdigit()
    return Inherited(int(server) if usable else None, environment.get("JPY_SESSION_NAME") or None)


def tree(process: psutil.Process) -> set[psutil.Process]:
    """``process`` and its descendants. Walks the whole process table: not for each tick."""
    try:
        return {process, *process.children(recursive=True)}
    except psutil.Error:
        return {process}


def printable(text: str, limit: int | None = None) -> str:
    """``text`` without the surrogates that file and process names may carry and JSON can't."""
    return str(text).encode("utf-8", "replace").decode("utf-8")[:limit]


def _started_at(process: psutil.Process) -> float | None:
    try:
        return process.create_time()
    except psutil.AccessDenied:
        return None


def _name(process: psutil.Process) -> str | None:
    try:
        return printable(process.name(), NAME_LIMIT) or None
    except (psutil.AccessDenied, psutil.ZombieProcess):
        return None


def _command(process: psutil.Process) -> tuple[str, ...]:
    try:
        return tuple(process.cmdline())
    except (psutil.AccessDenied, psutil.ZombieProcess):
        return ()


def _zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return False
