"""The allocator keeps its books straight, whatever is asked of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupyterlab_vram.simulated.allocator import MIB, CachingAllocator


class Driver:
    def __init__(self, free: int) -> None:
        self.free = free

    def take(self, nbytes: int) -> None:
        if nbytes > self.free:
            raise MemoryError
        self.free -= nbytes

    def give(self, nbytes: int) -> None:
        self.free += nbytes


def allocator(free: int = 1 << 40) -> tuple[CachingAllocator, Driver]:
    driver = Driver(free)
    return CachingAllocator(driver.take, driver.give), driver


@given(
    st.lists(
        st.one_of(
            st.integers(1, 64 * MIB),
            st.integers(1, 4096),
            st.integers(-50, -1),
            st.just(0),
        ),
        max_size=80,
    )
)
def test_the_sums_hold(steps: list[int]) -> None:
    """A positive step allocates, a negative one frees, zero releases the cache."""
    memory, driver = allocator()
    blocks = []
    for step in steps:
        if step > 0:
            block = memory.allocate(step)
            assert block.nbytes >= step
            blocks.append(block)
        elif step < 0 and blocks:
            memory.free(blocks.pop(step % len(blocks)))
        else:
            before = memory.reserved
            assert memory.release_cached() == before - memory.reserved
        assert memory.allocated == sum(block.nbytes for block in blocks)
        assert memory.requested == sum(block.requested for block in blocks)
        assert memory.requested <= memory.allocated <= memory.reserved
        assert memory.reserved == (1 << 40) - driver.free
        assert memory.split_bytes() <= memory.reserved - memory.allocated
    for block in blocks:
        memory.free(block)
    assert memory.split_bytes() == 0, "all neighbours are one block again"
    memory.release_cached()
    assert (memory.reserved, memory.segments, driver.free) == (0, 0, 1 << 40)


@pytest.mark.parametrize(
    ("nbytes", "allocated", "reserved"),
    [
        (1, 512, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB, 12 * MIB),
    ],
)
def test_segments_have_torchs_sizes(nbytes: int, allocated: int, reserved: int) -> None:
    memory, _ = allocator()
    memory.allocate(nbytes)
    assert (memory.allocated, memory.reserved) == (allocated, reserved)


def test_freed_blocks_are_used_again() -> None:
    memory, _ = allocator()
    memory.free(memory.allocate(40 * MIB))
    memory.allocate(30 * MIB)
    memory.allocate(10 * MIB)
    assert memory.reserved == 40 * MIB
    assert memory.release_cached() == 0


def test_a_segment_partly_in_use_stays() -> None:
    """400 times 5 MiB, three quarters deleted: all 2000 MiB stay reserved, as on a real GPU."""
    memory, _ = allocator()
    blocks = [memory.allocate(5 * MIB) for _ in range(400)]
    for i, block in enumerate(blocks):
        if i % 4:
            memory.free(block)
    assert (memory.allocated, memory.reserved) == (500 * MIB, 2000 * MIB)
    assert memory.release_cached() == 0
    assert memory.split_bytes() == 1500 * MIB


def test_what_the_driver_refuses_changes_nothing() -> None:
    memory, driver = allocator(20 * MIB)
    with pytest.raises(MemoryError):
        memory.allocate(21 * MIB)
    assert (memory.allocated, memory.reserved, driver.free) == (0, 0, 20 * MIB)
