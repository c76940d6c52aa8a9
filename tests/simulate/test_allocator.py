"""The caching allocator reuses, splits, merges and gives back as it should."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stepscope.simulate.engine.allocator import BLOCK, LARGE_SEGMENT, SMALL_SEGMENT, Allocator

MIB = 1 << 20


def obtain(allocator, size):
    if not allocator.fits(size):
        allocator.grow(size)
    return allocator.take(size)


def test_segments_have_the_pools_sizes():
    for size, segment in ((1, SMALL_SEGMENT), (MIB, SMALL_SEGMENT), (3 * MIB, LARGE_SEGMENT), (11 * MIB, 12 * MIB)):
        allocator = Allocator(1 << 40)
        block = obtain(allocator, size)
        assert allocator.reserved == segment
        assert block.bytes >= size
        assert block.bytes % BLOCK == 0


def test_a_freed_block_is_used_again():
    allocator = Allocator(1 << 40)
    first = obtain(allocator, 4 * MIB)
    address = first.address
    allocator.give(first)
    assert obtain(allocator, 4 * MIB).address == address
    assert allocator.calls == 1


def test_only_whole_segments_go_back_to_the_driver():
    allocator = Allocator(1 << 40)
    kept, gone = obtain(allocator, 3 * MIB), obtain(allocator, 3 * MIB)
    allocator.give(gone)
    assert allocator.trim() == []
    allocator.give(kept)
    assert [size for _, size in allocator.trim()] == [LARGE_SEGMENT]
    assert allocator.reserved == allocator.allocated == 0


def test_a_limit_is_noticed_before_it_is_broken():
    allocator = Allocator(30 * MIB)
    obtain(allocator, 5 * MIB)
    assert not allocator.would_exceed(1000)
    assert allocator.would_exceed(16 * MIB)


@given(st.lists(st.one_of(st.integers(1, 40 * MIB), st.integers(1, 4096), st.just(0)), max_size=80))
def test_blocks_never_overlap_and_totals_are_exact(sizes):
    allocator = Allocator(1 << 50)
    live = []
    for size in sizes:
        if size:
            live.append(obtain(allocator, size))
        elif live:
            allocator.give(live.pop(len(live) // 2))
        spans = sorted((block.address, block.address + block.bytes) for block in live)
        assert all(first[1] <= second[0] for first, second in pairwise(spans))
        assert allocator.allocated == sum(block.bytes for block in live) <= allocator.reserved
    for block in live:
        allocator.give(block)
    allocator.trim()
    assert (allocator.reserved, allocator.allocated, allocator.at) == (0, 0, {})
