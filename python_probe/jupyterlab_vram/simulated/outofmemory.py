"""Out of memory in PyTorch's words (2.x; c10/cuda/CUDACachingAllocator.cpp)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .allocator import CachingAllocator
    from .ledger import Ledger

ADVICE = (
    "If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation "
    "for Memory Management  (https://docs.pytorch.org/docs/stable/notes/cuda.html"
    "#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
)


class OutOfMemoryError(RuntimeError):
    """The simulated GPU has too little memory left. As torch's: one text, no other attributes."""


def describe(
    ledger: Ledger, number: int, device: int, nbytes: int, allocator: CachingAllocator
) -> str:
    """The text of the error.

    Args:
        number: The device's index in the ledger.
        device: Its index in this process.
        nbytes: What was asked for.
    """
    state = ledger.state()
    memory = state.memory[number]
    own, others = "", []
    if not state.devices[number].hide_processes:
        for process in state.processes:
            if process.device != number:
                continue
            # As the driver tells it: from inside a container, the own process is a stranger.
            pid = process.pid + state.driver.pid_offset
            if pid == os.getpid():
                own = (
                    "Including non-PyTorch memory, this process has "
                    f"{format_size(process.bytes)} memory in use. "
                )
            else:
                others.append(f"Process {pid} has {format_size(process.bytes)} memory in use. ")
    return (
        f"CUDA out of memory. Tried to allocate {format_size(nbytes)}. GPU {device} has a total "
        f"capacity of {format_size(memory.total - memory.reserved)} of which "
        f"{format_size(memory.free)} is free. {own}{''.join(others)}"
        f"Of the allocated memory {format_size(allocator.allocated)} is allocated by PyTorch, and "
        f"{format_size(allocator.reserved - allocator.allocated)} is reserved by PyTorch but "
        f"unallocated. {ADVICE}"
    )


def format_size(nbytes: int) -> str:
    """As torch writes sizes: "0 bytes", "1024.00 MiB", "22.29 GiB"."""
    if nbytes <= 1024:
        return f"{nbytes} bytes"
    if nbytes <= 1 << 20:
        return f"{nbytes / (1 << 10):.2f} KiB"
    if nbytes <= 1 << 30:
        return f"{nbytes / (1 << 20):.2f} MiB"
    return f"{nbytes / (1 << 30):.2f} GiB"
