"""This process's share of the simulated GPU: its contexts, its allocators, and their figures.

The names and the habits are those of ``torch.cuda``: nothing is charged before the first use, the
first use of a device makes a context that only the end of the process returns, and asking for
figures makes none.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from .allocator import Block, CachingAllocator
from .outofmemory import OutOfMemoryError, describe

if TYPE_CHECKING:
    from .ledger import Ledger


class _Device:
    """A device that this process has used; ``number`` is the ledger's index."""

    def __init__(self, ledger: Ledger, number: int) -> None:
        pid = os.getpid()
        self.number = number
        self.context = 0
        self.allocator = CachingAllocator(
            lambda nbytes: _nothing(ledger.charge(pid, number, nbytes)),
            lambda nbytes: _nothing(ledger.release(pid, number, nbytes)),
        )
        self.retries = 0
        self.out_of_memory = 0
        # What the garbage collector frees, at any moment and in any thread, also while this very
        # allocator is at work: taken in by whoever uses the allocator next.
        self.dropped: deque[Block] = deque()


class _Process:
    def __init__(self, parent: _Process | None = None) -> None:
        self.parent = parent
        """What a forked child has inherited and mustn't touch: its arrays still refer to it."""
        self.lock = threading.Lock()
        self.ledger: Ledger | None = None
        self.devices: dict[int, _Device] = {}


_process = _Process()


def _after_fork() -> None:
    """A forked child can't use the parent's contexts, and mustn't free the parent's blocks."""
    global _process
    if _process.devices or _process.parent:
        _process = _Process(_process)
    _process.lock = threading.Lock()  # Another thread may have held it, and there is none here.


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# --- What arrays use --------------------------------------------------------------------------


def allocate(nbytes: int, device: int) -> Block:
    """A block of more than 0 bytes. Raises OutOfMemoryError, IndexError, RuntimeError."""
    with _process.lock:
        used = _context(device)
        _take_in(used)
        try:
            return used.allocator.allocate(nbytes)
        except _ledger_out_of_memory():
            used.retries += 1
            used.allocator.release_cached()
        try:
            return used.allocator.allocate(nbytes)
        except _ledger_out_of_memory():
            used.out_of_memory += 1
            text = describe(_ledger(), used.number, device, nbytes, used.allocator)
        raise OutOfMemoryError(text)


def dropper(device: int) -> Any:
    """What frees a block of this process on ``device``, callable at any moment."""
    return _process.devices[device].dropped.append


# --- As torch.cuda ----------------------------------------------------------------------------


def is_initialized() -> bool:
    """Whether this process has used a simulated GPU, so that it holds at least a context."""
    return bool(_process.devices)


def device_count() -> int:
    """How many GPUs this process may use (``CUDA_VISIBLE_DEVICES`` counts here too)."""
    return len(_visible())


def device_uuid(device: int = 0) -> str:
    """The driver's identity of a device. Raises IndexError."""
    return _ledger().state().devices[_number(device)].uuid


def context_size(device: int = 0) -> int:
    """Bytes that the driver keeps for this process on a device; only its end returns them."""
    used = _process.devices.get(device)
    return used.context if used else 0


def memory_allocated(device: int = 0) -> int:
    """Bytes in arrays."""
    return _figure(device, "allocated")


def memory_reserved(device: int = 0) -> int:
    """Bytes that the allocator holds: in arrays, and cached for the next ones."""
    return _figure(device, "reserved")


def max_memory_allocated(device: int = 0) -> int:
    """The most bytes that were in arrays at one time."""
    return _figure(device, "peak")


def memory_stats(device: int = 0) -> dict[str, int]:
    """The figures under torch's names; empty before the first use."""
    with _process.lock:
        used = _process.devices.get(device)
        if used is None:
            return {}
        _take_in(used)
        allocator = used.allocator
        return {
            "allocated_bytes.all.current": allocator.allocated,
            "allocated_bytes.all.peak": allocator.peak,
            "inactive_split_bytes.all.current": allocator.split_bytes(),
            "num_alloc_retries": used.retries,
            "num_ooms": used.out_of_memory,
            "requested_bytes.all.current": allocator.requested,
            "reserved_bytes.all.current": allocator.reserved,
            "segment.all.current": allocator.segments,
        }


def mem_get_info(device: int = 0) -> tuple[int, int]:
    """Free and total bytes of the whole device. Makes a context, as it does on a real GPU."""
    with _process.lock:
        memory = _ledger().memory(_context(device).number)
    return memory.free, memory.total - memory.reserved


def empty_cache() -> None:
    """Gives cached blocks back to the driver, as far as nothing in their segment is in use."""
    with _process.lock:
        for used in _process.devices.values():
            _take_in(used)
            used.allocator.release_cached()


# --- Inside -----------------------------------------------------------------------------------


def _ledger() -> Ledger:
    # Imported late, since ledger.py also runs as a program of its own.
    from .ledger import Ledger

    if _process.ledger is None:
        _process.ledger = Ledger.open()
    return _process.ledger


def _ledger_out_of_memory() -> type[Exception]:
    from .ledger import OutOfMemory

    return OutOfMemory


def _visible() -> list[int]:
    """The ledger's indexes of the devices that this process may use, in its own order."""
    devices = _ledger().state().devices
    usable = [number for number, device in enumerate(devices) if device.mig_mode != 1]
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return usable
    chosen: list[int] = []
    for name in (part.strip() for part in wanted.split(",")):
        found = [n for n in usable if name and devices[n].uuid.startswith(name)]
        if name.isdigit() and int(name) < len(usable):
            found = [usable[int(name)]]
        if len(found) != 1 or found[0] in chosen:
            break  # As CUDA: what follows an entry that names no device is not visible.
        chosen += found
    return chosen


def _number(device: int) -> int:
    visible = _visible()
    if not 0 <= device < len(visible):
        raise IndexError(
            f"This process sees {len(visible)} simulated GPUs, and {device} is none of them."
        )
    return visible[device]


def _context(device: int) -> _Device:
    """The device, with a context made at its first use."""
    if _process.parent:
        raise RuntimeError(
            "Cannot re-initialize the simulated GPU in forked subprocess. To use it with "
            "multiprocessing, you must use the 'spawn' start method"
        )
    used = _process.devices.get(device)
    if used is None:
        ledger = _ledger()
        used = _Device(ledger, _number(device))
        try:
            used.context = ledger.open_context(os.getpid(), used.number)
        except _ledger_out_of_memory():
            used = None
        if used is None:
            raise OutOfMemoryError("CUDA error: out of memory")
        _process.devices[device] = used
    return used


def _figure(device: int, name: str) -> int:
    with _process.lock:
        used = _process.devices.get(device)
        if used is None:
            return 0
        _take_in(used)
        return int(getattr(used.allocator, name))


def _take_in(used: _Device) -> None:
    while used.dropped:
        used.allocator.free(used.dropped.popleft())


def _nothing(_: int) -> None:
    """The allocator's books are its own: how much the driver took doesn't concern it."""
