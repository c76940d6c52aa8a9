"""Segments and blocks at the end of a snapshot, from what happened to them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from stepscope.simulate.engine.allocator import SMALL_SEGMENT
from stepscope.simulate.records import Memory, Segment
from stepscope.simulate.writers.snapshot_frames import SnapshotFrame, SnapshotStacks


@dataclass(slots=True)
class SegmentLayout:
    """Segments and blocks in use.

    Free neighbours are always one block, so that what lies between the blocks in use are the free ones.
    """

    device: int
    stacks: SnapshotStacks
    segments: dict[int, Segment] = field(default_factory=dict)
    used: dict[int, Memory] = field(default_factory=dict)
    last_asked: dict[int, int] = field(default_factory=dict)

    def segment(self, r: Segment) -> None:
        """A segment came or went."""
        if r.bytes > 0:
            self.segments[r.address] = r
        else:
            del self.segments[r.address]

    def memory(self, r: Memory) -> None:
        """A block was handed out or taken back."""
        if r.bytes > 0:
            self.used[r.address] = r
            self.last_asked[r.address] = r.requested
        else:
            del self.used[r.address]

    def document(self) -> list[dict[str, Any]]:
        """The segments, by address."""
        starts = sorted(self.segments)
        held: dict[int, list[Memory]] = {address: [] for address in starts}
        for address in sorted(self.used):
            held[starts[bisect_right(starts, address) - 1]].append(self.used[address])
        return [self._segment(self.segments[address], blocks) for address, blocks in held.items()]

    def _segment(self, segment: Segment, used: list[Memory]) -> dict[str, Any]:
        allocated = sum(block.bytes for block in used)
        return {
            "device": self.device,
            "address": segment.address,
            "total_size": segment.bytes,
            "allocated_size": allocated,
            "active_size": allocated,
            "requested_size": sum(block.requested for block in used),
            "stream": 0,
            "segment_type": "small" if segment.bytes == SMALL_SEGMENT else "large",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "frames": self.stacks.of(segment.context),
            "blocks": self._blocks(segment, used),
        }

    def _blocks(self, segment: Segment, used: list[Memory]) -> list[dict[str, Any]]:
        blocks = []
        at = segment.address
        for block in used:
            if block.address > at:
                blocks.append(self._free(at, block.address - at))
            frames = self.stacks.of(block.context)
            blocks.append(_block((block.address, block.bytes, block.requested), "active_allocated", frames))
            at = block.address + block.bytes
        if at < segment.address + segment.bytes:
            blocks.append(self._free(at, segment.address + segment.bytes - at))
        return blocks

    def _free(self, address: int, size: int) -> dict[str, Any]:
        # A free block keeps the size last requested.
        return _block((address, size, self.last_asked.get(address, 0)), "inactive", [])


def _block(place: tuple[int, int, int], state: str, frames: list[SnapshotFrame]) -> dict[str, Any]:
    address, size, requested = place
    return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": frames}
