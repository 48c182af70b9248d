"""A caching allocator with PyTorch's sizes and habits (c10/cuda/CUDACachingAllocator.cpp).

It takes segments from the driver, cuts them into blocks, and keeps freed blocks for reuse; only
``release_cached`` gives segments back, and only those in which nothing is in use.
"""

from __future__ import annotations

from collections.abc import Callable

MIB = 1 << 20
ROUNDING = 512
"""Every block is a multiple of this."""
SMALL = MIB
"""Blocks up to this come from segments of their own, so that they don't riddle the large ones."""
SMALL_SEGMENT, MEDIUM_SEGMENT = 2 * MIB, 20 * MIB
LARGE = 10 * MIB
"""Blocks from this get a segment of their own size, in steps of 2 MiB."""


class Block:
    """A piece of a segment; ``before`` and ``after`` are its neighbours there."""

    __slots__ = ("after", "before", "nbytes", "requested", "segment", "used")

    def __init__(self, segment: int, nbytes: int) -> None:
        self.segment = segment
        """The whole segment's bytes."""
        self.nbytes = nbytes
        self.requested = 0
        self.used = False
        self.before: Block | None = None
        self.after: Block | None = None

    @property
    def whole(self) -> bool:
        return self.nbytes == self.segment

    @property
    def small(self) -> bool:
        return self.segment == SMALL_SEGMENT


class CachingAllocator:
    """One device's. Not safe for threads by itself.

    Args:
        take: Takes so many bytes from the driver; raises if it can't.
        give: Gives so many bytes back to the driver.
    """

    def __init__(self, take: Callable[[int], None], give: Callable[[int], None]) -> None:
        self._take = take
        self._give = give
        self._free: list[Block] = []
        self.allocated = 0
        """Bytes in blocks in use."""
        self.reserved = 0
        """Bytes in segments: in use and cached."""
        self.requested = 0
        """Bytes that were asked for, before rounding."""
        self.peak = 0
        """The most that ``allocated`` has been."""
        self.segments = 0

    def allocate(self, nbytes: int) -> Block:
        """A block of at least ``nbytes`` (more than 0); passes on what ``take`` raises."""
        size = -(-nbytes // ROUNDING) * ROUNDING
        block = self._cached(size) or self._new_segment(size)
        rest = block.nbytes - size
        if rest >= ROUNDING if block.small else rest > SMALL:
            self._split(block, size)
        block.used = True
        block.requested = nbytes
        self.allocated += block.nbytes
        self.requested += nbytes
        self.peak = max(self.peak, self.allocated)
        return block

    def free(self, block: Block) -> None:
        """The block may be reused; its memory stays reserved."""
        self.allocated -= block.nbytes
        self.requested -= block.requested
        block.used = False
        for neighbour in (block.before, block.after):
            if neighbour is not None and not neighbour.used:
                self._free.remove(neighbour)
                self._merge(block, neighbour)
        self._free.append(block)

    def release_cached(self) -> int:
        """Gives every segment in which nothing is in use back to the driver; how many bytes."""
        whole = [block for block in self._free if block.whole]
        self._free = [block for block in self._free if not block.whole]
        for block in whole:
            self._give(block.segment)
            self.reserved -= block.segment
            self.segments -= 1
        return sum(block.segment for block in whole)

    def split_bytes(self) -> int:
        """Cached bytes that can't be given back, since their segment is partly in use."""
        return sum(block.nbytes for block in self._free if not block.whole)

    def _cached(self, size: int) -> Block | None:
        small = size <= SMALL
        fitting = [block for block in self._free if block.small == small and block.nbytes >= size]
        if not fitting:
            return None
        best = min(fitting, key=lambda block: block.nbytes)
        self._free.remove(best)
        return best

    def _new_segment(self, size: int) -> Block:
        if size <= SMALL:
            segment = SMALL_SEGMENT
        elif size < LARGE:
            segment = MEDIUM_SEGMENT
        else:
            segment = -(-size // SMALL_SEGMENT) * SMALL_SEGMENT
        self._take(segment)
        self.reserved += segment
        self.segments += 1
        return Block(segment, segment)

    def _split(self, block: Block, size: int) -> None:
        rest = Block(block.segment, block.nbytes - size)
        rest.before, rest.after = block, block.after
        if block.after is not None:
            block.after.before = rest
        block.after, block.nbytes = rest, size
        self._free.append(rest)

    def _merge(self, block: Block, neighbour: Block) -> None:
        block.nbytes += neighbour.nbytes
        if neighbour is block.before:
            block.before = neighbour.before
            if block.before is not None:
                block.before.after = block
        else:
            block.after = neighbour.after
            if block.after is not None:
                block.after.before = block
