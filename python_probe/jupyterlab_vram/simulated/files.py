"""Where the ledger is, its lock, and how it is created."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ENVIRONMENT = "VRAM_SIMULATED_LEDGER"


class LedgerError(Exception):
    """The ledger can't be used; the text says why and what to do."""


def default_path() -> Path:
    """What ``VRAM_SIMULATED_LEDGER`` names, or a file in a folder that only this user can enter.

    Raises LedgerError if that folder belongs to somebody else or is open to others.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        folder = Path(runtime) / "jupyterlab-vram"
    elif sys.platform == "win32":
        folder = Path(tempfile.gettempdir()) / "jupyterlab-vram"
    else:
        folder = Path(tempfile.gettempdir()) / f"jupyterlab-vram-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform != "win32":
        # In a folder that all may write to, somebody else may have been there first.
        status = folder.lstat()
        if folder.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise LedgerError(
                f"{folder} is not a folder of yours alone, so the simulated GPU does not use it. "
                f"Delete it, or name a file of your own in {ENVIRONMENT}."
            )
    return folder / "simulated.ledger"


def lock(handle: IO[bytes]) -> None:
    """Wait until this process alone may change the file."""
    if sys.platform == "win32":
        handle.seek(_LOCKED_BYTE)
        msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX)


def unlock(handle: IO[bytes]) -> None:
    """Let the others have it."""
    if sys.platform == "win32":
        handle.seek(_LOCKED_BYTE)
        msvcrt.locking(handle.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_UN)


_LOCKED_BYTE = 1 << 30
"""Windows forbids others to touch what is locked, so it is a byte far behind the content."""


def write_new(path: Path, content: Any, replace: bool = False) -> None:
    """Put ``content`` at ``path`` in one step, readable by this user alone.

    Without ``replace``, a file that another process put there in the meantime stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as handle:
            handle.write(content)
        if replace:
            temporary.replace(path)
        elif sys.platform == "win32":
            temporary.rename(path)  # Fails here if the file exists.
        else:
            os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)
