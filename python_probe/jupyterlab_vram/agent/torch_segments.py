"""What PyTorch's CUDA allocator got from the driver, by its own list. Runs in the user's kernel.

A segment is what the driver gave at once; the allocator cuts it into blocks. Made for one moment:
the next cell may cut and merge them.
"""

from __future__ import annotations

import os
from typing import Any

_MIB = 1 << 20


def segments(torch: Any) -> list[dict[str, Any]]:
    try:
        return list(torch.cuda.memory_snapshot(include_traces=False))
    except TypeError:  # an older version
        return list(torch.cuda.memory_snapshot())


def is_private(segment: dict[str, Any]) -> bool:
    """Whether it belongs to a CUDA graph or a MemPool, whose free blocks nobody else gets."""
    return tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0)


def in_use(found: list[dict[str, Any]]) -> dict[int, tuple[int, int]]:
    """Address to (bytes, stream) of every block in use; that is more than was asked for."""
    blocks = {}
    for segment in found:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                blocks[address] = (block["size"], segment["stream"])
            address += block["size"]
    return blocks


class Memory:
    """The allocator's memory at this moment. ``sizes``: address to the bytes that were given for
    what is there."""

    def __init__(self, found: list[dict[str, Any]]) -> None:
        self.sizes = {address: size for address, (size, _) in in_use(found).items()}
        self._segments = found

    def returned(self, dropped: set[int]) -> int:
        """Bytes that a release gives back more than now, once these addresses are free."""
        total = 0
        for segment in self._segments:
            used = _used(segment)
            if is_private(segment) or used.isdisjoint(dropped):
                continue
            if segment.get("is_expandable"):
                total += _free_pages(segment, dropped) - _free_pages(segment, set())
            elif used <= dropped:
                total += segment["total_size"]
        return total


def _used(segment: dict[str, Any]) -> set[int]:
    address, found = segment["address"], set()
    for block in segment["blocks"]:
        if block["state"] != "inactive":
            found.add(address)
        address += block["size"]
    return found


def are_needed(torch: Any, figures: list[dict[str, int]]) -> bool:
    """Whether ``memory_stats`` don't tell what a release gives back.

    Not always read, because a list of all blocks can make Python collect all of its garbage, a
    third of a second in a process that has imported much.
    """
    told = getattr(torch._C, "_accelerator_getAllocatorSettings", None)
    settings = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "") if told is None else told()
    return "expandable_segments:True" in settings.replace(" ", "") or any(
        # what older versions don't tell
        key.startswith("reserved_bytes_by_private_pools")
        for stats in figures
        for key in stats
    )


def releasable(torch: Any) -> dict[int, int]:
    """Device index to the bytes that ``empty_cache`` gives back: whole segments, and of expandable
    ones whole pages."""
    found: dict[int, int] = {}
    for segment in segments(torch):
        if is_private(segment):
            continue
        if segment.get("is_expandable"):
            size = _free_pages(segment, set())
        else:
            size = 0 if segment["active_size"] else segment["total_size"]
        found[segment["device"]] = found.get(segment["device"], 0) + size
    return found


def _free_pages(segment: dict[str, Any], dropped: set[int]) -> int:
    """Bytes of pages in which nothing is in use, or only what is dropped."""
    page = 2 * _MIB if segment["segment_type"] == "small" else 20 * _MIB
    base = segment["address"]
    at = free_from = size = 0
    for block in (*segment["blocks"], {"size": 0, "state": "the end"}):
        if block["state"] != "inactive" and base + at not in dropped:
            size += max(0, at // page - -(-free_from // page)) * page
            free_from = at + block["size"]
        at += block["size"]
    return size
