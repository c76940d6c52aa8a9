"""Move the devices' histories out of the loaded lists into columns, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from stepscope.readers.memsnapshot.entries import Block, block, entry_columns
from stepscope.readers.memsnapshot.stacks import StackNumbers
from stepscope.readers.memsnapshot.values import LARGEST, LIMIT, size
from stepscope.store.staging import Staging

_BATCH: Final = 1 << 15

_STACK_SCHEMA: Final = pa.schema(
    [
        ("stack", pa.int64()), ("frames", pa.list_(pa.int32())), ("place", pa.string()), ("module", pa.string()),
        ("category", pa.string()),
    ]
)  # fmt: skip
_FRAME_SCHEMA: Final = pa.schema([("frame", pa.int32()), ("text", pa.string())])
_SQL: Final = (
    "CREATE TEMP TABLE recorded_entries (part INTEGER, seq BIGINT, action VARCHAR, address BIGINT, bytes BIGINT, "
    "stream VARCHAR, time_us BIGINT, device_free BIGINT, stack BIGINT, pool VARCHAR, category VARCHAR, "
    "context VARCHAR, metadata VARCHAR)"
)
#: Impossible numbers would overflow sums.
_VIEW: Final = f"""
CREATE TEMP VIEW usable_entries AS SELECT * REPLACE (
    CASE WHEN address > -{LIMIT} AND address < {LIMIT} THEN address END AS address,
    CASE WHEN bytes >= 0 AND bytes < {LARGEST} THEN bytes END AS bytes,
    CASE WHEN device_free >= 0 AND device_free < {LARGEST} THEN device_free END AS device_free
) FROM recorded_entries
"""


#: What entries tell (torch/csrc/cuda/memory_snapshot.cpp; `free` in PyTorch 2.0). Those about the snapshot itself,
#: about an allocation that failed and of the program's own need no address.
_ADDRESSED: Final = (
    "alloc", "free_requested", "free_completed", "free", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap",
)  # fmt: skip
_OTHERS: Final = ("snapshot", "oom", "workspace_snapshot", "user_defined")
_UNREADABLE_SQL: Final = f"""
SELECT count(*) FROM usable_entries
WHERE bytes IS NULL OR CASE WHEN action IN {_ADDRESSED} THEN address IS NULL
    ELSE coalesce(action NOT IN {_OTHERS}, true) END
"""
#: Part of entries whose list is not known yet.
_UNASSIGNED: Final = -1
_ADOPT_SQL: Final = f"""
UPDATE recorded_entries SET part = ?, seq = seq - ? WHERE part = {_UNASSIGNED} AND seq >= ? AND seq < ?
"""


class Taken:
    """Placeholder in a list for an entry that has been moved out."""


TAKEN: Final = Taken()


class History:
    """Moves entries out of lists while these are loaded, and stages them in `recorded_entries`.

    A part is a list with entries of a device's history; parts are numbered from 0 in order of appearance.

    Attributes:
        foreign: Number of list items that are no entries.
        unsized: Number of blocks without a valid size.
    """

    def __init__(self, staging: Staging) -> None:
        self.stacks = StackNumbers()
        self.segment_lists: list[list[Any]] = []
        self.loose_segments: list[Any] = []
        self._staging = staging
        self._parts: dict[int, int] = {}
        self._kept: list[list[Any]] = []
        self._counts: list[int] = []
        self._pending: list[pa.Table] = []
        self._waiting = 0
        self._streamed: list[dict[str, Any]] = []
        self._streams = 0
        self._adopted = 0
        self.foreign = self.unsized = 0
        staging.connection.execute(_SQL)
        staging.connection.execute(_VIEW)

    def batch(self, items: Any) -> None:
        """Move entries out of a list of dictionaries; other lists stay as they are."""
        if type(items) is dict and "total_size" in items:
            self.loose_segments.append(items)
        if type(items) is not list or not items or type(items[-1]) is not dict:
            return
        last = items[-1]
        if "action" in last:
            self.take(items)
        elif "state" in last and "stage" not in last:
            items[:] = [self.block(item) for item in items]
        elif "total_size" in last and not any(items is known for known in self.segment_lists):
            self.segment_lists.append(items)

    def stream(self, entry: dict[str, Any]) -> Taken:
        """Move an entry whose list is not complete yet; `adopt` assigns it to its list later."""
        self._streamed.append(entry)
        if len(self._streamed) >= _BATCH:
            self._stage_streamed()
        return TAKEN

    def _stage_streamed(self) -> None:
        self._add(_UNASSIGNED, self._streams, self._streamed)
        self._streams += len(self._streamed)
        self._streamed = []

    def adopt(self, items: list[Any]) -> int:
        """Make the streamed entries of a list, the next ones in order, a part; returns its number."""
        self._stage_streamed()
        self.flush()
        count = sum(item is TAKEN for item in items)
        self.foreign += len(items) - count
        part = self._parts[id(items)] = len(self._counts)
        self._kept.append(items)
        self._counts.append(count)
        self._staging.connection.execute(_ADOPT_SQL, [part, self._adopted, self._adopted, self._adopted + count])
        self._adopted += count
        return part

    def take(self, items: list[Any]) -> int:
        """Move the entries of one device's history; returns the number of their part."""
        part = self._parts.get(id(items))
        if part is None:
            part = self._parts[id(items)] = len(self._counts)
            self._kept.append(items)
            self._counts.append(0)
        seq = self._counts[part]
        # Compared by identity: shared entries are counted once.
        entries = list({id(item): item for item in items if type(item) is dict and item}.values())
        self.foreign += len(items) - len(entries)
        for first in range(0, len(entries), _BATCH):
            self._add(part, seq + first, entries[first : first + _BATCH])
        for item in entries:
            item.clear()
        items.clear()
        self._counts[part] = seq + len(entries)
        return part

    def _add(self, part: int, seq: int, entries: list[dict[str, Any]]) -> None:
        columns = entry_columns(entries, self.stacks)
        columns["part"] = pa.array([part] * len(entries), pa.int32())
        columns["seq"] = pa.array(range(seq, seq + len(entries)), pa.int64())
        if "stream" in columns:
            columns["stream"] = columns["stream"].cast(pa.string())
        self._pending.append(pa.table(columns))
        self._waiting += len(entries)
        if self._waiting >= _BATCH or self.stacks.waiting >= _BATCH:
            self.flush()

    def block(self, item: Any) -> Block | None:
        """A block as a row; None if it is none."""
        if type(item) is dict:
            row = block(item, self.stacks)
            self.unsized += size(item.get("size")) is None
            item.clear()
            return row
        return item if type(item) is tuple else None

    def part_of(self, items: list[Any]) -> int | None:
        """The part made from a list; None if it had no entries."""
        return self._parts.get(id(items))

    @property
    def unreadable(self) -> int:
        """Number of entries without an action, or without a valid address or size."""
        [number] = self._staging.one(_UNREADABLE_SQL)
        return int(number)

    @property
    def counts(self) -> list[int]:
        """Number of entries of each part."""
        return list(self._counts)

    def flush(self) -> None:
        """Stage all entries moved so far."""
        if self._pending:
            together = pa.concat_tables(self._pending, promote_options="default")
            self._staging.insert("recorded_entries", together)
            self._pending, self._waiting = [], 0
        if stacks := self.stacks.new_stacks():
            self._insert("call_stacks", _STACK_SCHEMA, stacks)
        if frames := self.stacks.new_frames():
            self._insert("call_frames", _FRAME_SCHEMA, frames)

    def _insert(self, table: str, schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> None:
        columns = zip(*rows, strict=True)
        arrays = [pa.array(values, field.type) for field, values in zip(schema, columns, strict=True)]
        self._staging.insert(table, pa.Table.from_arrays(arrays, schema=schema))
