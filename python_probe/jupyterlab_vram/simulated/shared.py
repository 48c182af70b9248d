"""The ledger's file, mapped into memory and shared by processes, threads and forked children."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from . import layout
from .files import LedgerError, lock, unlock

_Self = TypeVar("_Self", bound="SharedFile")


class SharedFile:
    """A file with `layout.File` in it, as ``_file``, to be touched with `locked` held only."""

    path: Path

    def __init__(self, path: str | Path) -> None:
        """Open an existing ledger. Raises LedgerError or OSError, such as FileNotFoundError."""
        self.path = Path(path)
        self._thread_lock = threading.RLock()
        self._depth = 0
        self._owner = os.getpid()
        self._handle = self.path.open("r+b", buffering=0)
        head = self._handle.read(12)
        wanted = [number.to_bytes(4, sys.byteorder) for number in layout.HEAD]
        if len(head) < 12 or head[:4] != wanted[0]:
            self._handle.close()
            raise LedgerError(
                f"{self.path} is not a ledger of the simulated GPU. Delete it, or name another "
                "file in VRAM_SIMULATED_LEDGER."
            )
        if head != b"".join(wanted) or os.fstat(self._handle.fileno()).st_size != layout.SIZE:
            self._handle.close()
            raise LedgerError(
                f"{self.path} was written by another version of jupyterlab-vram. Shut down the "
                "kernels that use the simulated GPU, then delete the file."
            )
        self._map = mmap.mmap(self._handle.fileno(), layout.SIZE)
        self._file: Any = layout.File.from_buffer(self._map)

    def close(self) -> None:
        """Close the file. What processes hold stays in the ledger."""
        self._file = None
        self._map.close()
        self._handle.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the ledger over several calls, so that nothing changes between them."""
        if os.getpid() != self._owner:
            # A file lock belongs to the open file, which a forked child shares with its parent.
            self._thread_lock, self._depth, self._owner = threading.RLock(), 0, os.getpid()
            self._handle = self.path.open("r+b", buffering=0)
        with self._thread_lock:
            if not self._depth:
                lock(self._handle)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    unlock(self._handle)

    def _write(self, content: Any) -> None:
        # The names of counted functions stay: the driver in C remembers its rows.
        calls = bytes(self._file.calls)
        ctypes.memmove(ctypes.addressof(self._file), ctypes.addressof(content), layout.SIZE)
        ctypes.memmove(ctypes.addressof(self._file.calls), calls, len(calls))
