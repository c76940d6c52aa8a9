"""A caching allocator as PyTorch's: blocks cut from segments, kept for reuse, merged when freed."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

# Sizes of PyTorch's CUDACachingAllocator: blocks are multiples of 512 B; up to 1 MiB they come from 2 MiB
# segments, up to 10 MiB from 20 MiB segments, and above from segments rounded up to 2 MiB.
BLOCK = 512
SMALL = 1 << 20
SMALL_SEGMENT = 2 << 20
LARGE_LIMIT = 10 << 20
LARGE_SEGMENT = 20 << 20
ROUND = 2 << 20


@dataclass(slots=True, eq=False)
class Block:
    """A block of a segment; ``prev`` and ``next`` are its neighbours, ``requested`` the bytes asked for."""

    address: int
    bytes: int
    small: bool
    free: bool = False
    prev: Block | None = None
    next: Block | None = None
    requested: int = 0


@dataclass(slots=True)
class Allocator:
    """State of one device's allocator.

    Attributes:
        limit: bytes it may take from the driver.
        allocated: bytes handed out.
        reserved: bytes taken from the driver.
        requested: bytes asked for of those.
        peak_allocated: largest ``allocated`` so far.
        peak_requested: largest ``requested`` so far.
        peak_reserved: largest ``reserved`` so far.
        grown: sizes of the segments the last ``take`` asked of the driver.
        calls: segments taken since the start.
    """

    limit: int
    next_address: int = 0x7F0000000000
    allocated: int = 0
    requested: int = 0
    reserved: int = 0
    peak_allocated: int = 0
    peak_requested: int = 0
    peak_reserved: int = 0
    calls: int = 0
    cached: dict[bool, list[tuple[int, int]]] = field(default_factory=lambda: {True: [], False: []})
    at: dict[int, Block] = field(default_factory=dict)

    def fits(self, bytes_: int) -> bool:
        """Whether a cached block is large enough, so that no driver call is needed."""
        size = _rounded(bytes_)
        pool = self.cached[size <= SMALL]
        return bisect_left(pool, (size, 0)) < len(pool)

    def grow(self, bytes_: int) -> tuple[int, int]:
        """Take a segment large enough for ``bytes_`` from the driver; its address and size."""
        size = _rounded(bytes_)
        segment = _segment_size(size)
        address = self.next_address
        self.next_address += segment + ROUND
        self.reserved += segment
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        self.calls += 1
        block = Block(address, segment, size <= SMALL, True)
        self.at[address] = block
        insort(self.cached[block.small], (segment, address))
        return address, segment

    def would_exceed(self, bytes_: int) -> bool:
        """Whether growing for ``bytes_`` breaks the limit."""
        return self.reserved + _segment_size(_rounded(bytes_)) > self.limit

    def take(self, bytes_: int) -> Block:
        """Hand out the smallest cached block that fits; there must be one."""
        size = _rounded(bytes_)
        small = size <= SMALL
        pool = self.cached[small]
        _, address = pool.pop(bisect_left(pool, (size, 0)))
        block = self.at[address]
        block.free = False
        rest = block.bytes - size
        if rest >= (BLOCK if small else SMALL + 1):
            tail = Block(address + size, rest, small, True, block, block.next)
            if block.next is not None:
                block.next.prev = tail
            block.next = tail
            block.bytes = size
            self.at[tail.address] = tail
            insort(pool, (rest, tail.address))
        block.requested = bytes_
        self.allocated += block.bytes
        self.requested += bytes_
        if self.allocated > self.peak_allocated:
            self.peak_allocated = self.allocated
        if self.requested > self.peak_requested:
            self.peak_requested = self.requested
        return block

    def give(self, block: Block) -> None:
        """Free a block and merge it with free neighbours."""
        self.allocated -= block.bytes
        self.requested -= block.requested
        pool = self.cached[block.small]
        after = block.next
        if after is not None and after.free:
            self._uncache(pool, after)
            del self.at[after.address]
            block.bytes += after.bytes
            block.next = after.next
            if after.next is not None:
                after.next.prev = block
        before = block.prev
        if before is not None and before.free:
            self._uncache(pool, before)
            del self.at[block.address]
            before.bytes += block.bytes
            before.next = block.next
            if block.next is not None:
                block.next.prev = before
            block = before
        block.free = True
        insort(pool, (block.bytes, block.address))

    def trim(self) -> list[tuple[int, int]]:
        """Return every wholly free segment to the driver; gives their addresses and sizes."""
        gone = []
        for pool in self.cached.values():
            for size, address in list(pool):
                block = self.at[address]
                if block.prev is None and block.next is None:
                    self._uncache(pool, block)
                    del self.at[address]
                    self.reserved -= size
                    gone.append((address, size))
        return gone

    @staticmethod
    def _uncache(pool: list[tuple[int, int]], block: Block) -> None:
        del pool[bisect_left(pool, (block.bytes, block.address))]


def _rounded(bytes_: int) -> int:
    return max(BLOCK, -(-bytes_ // BLOCK) * BLOCK)


def _segment_size(size: int) -> int:
    if size <= SMALL:
        return SMALL_SEGMENT
    return LARGE_SEGMENT if size < LARGE_LIMIT else -(-size // ROUND) * ROUND
