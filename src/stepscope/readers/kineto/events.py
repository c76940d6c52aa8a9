"""The events of a recording as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stepscope.native.scanning import ABSENT, ODD, Kind, Rows, ScanLayout, ScanMember
from stepscope.readers.content import BLOCK_BYTES, CHUNK_BYTES, ReadInto
from stepscope.readers.kineto import values
from stepscope.readers.kineto.event_rows import EventRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Stands for a number that is not recorded.
NONE: Final = ABSENT
#: What every event has. Its phase comes first: what has none is no event.
_TEXTS: Final = ("ph", "cat", "name", "pid", "tid")
_MEMBERS: Final = (
    *(ScanMember(key, Kind.TEXT) for key in _TEXTS),
    ScanMember("ts", Kind.THOUSANDTHS), ScanMember("dur", Kind.THOUSANDTHS), ScanMember("id", Kind.INTEGER),
)  # fmt: skip
#: Phases of events that are read; others are asynchronous intervals, objects, samples and dumps.
_PHASES: Final = b"XBEiIMCstf"
#: PyTorch's category of instants at which memory is taken or given back.
_ALLOCATOR: Final = "cpu_instant_event"
#: The names of its events.
_ALLOCATOR_NAMES: Final = ("[memory]", "[OutOfMemory]")


def layout(
    texts: tuple[str, ...] = (), integers: tuple[str, ...] = (), combinations: dict[str, tuple[str, ...]] | None = None
) -> ScanLayout:
    """What is read of each event beside what all have: texts and integers among its arguments.

    Args:
        texts: Keys of texts.
        integers: Keys of integers.
        combinations: Names of texts that are numbered together, with their keys: `kind` for phase, category and name
            is there if it is not given, `where` for process and thread, too.
    """
    members = (*(ScanMember(key, Kind.TEXT, inner=True) for key in texts),
               *(ScanMember(key, Kind.INTEGER, inner=True) for key in integers))  # fmt: skip
    basic = {"kind": ("ph", "cat", "name"), "where": ("pid", "tid")}
    return ScanLayout((*_MEMBERS, *members), "args", {**basic, **(combinations or {})})


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Consecutive events, n of them.

    Attributes:
        first: Number of the first one, counted from the start of the recording.
        phase: uint8[n], the phase's character; 0 if it is not exactly one.
        is_span: bool[n], whether it is an interval, or an instant treated as one.
        ts: int64[n], ns; NONE if there is no such number.
        dur: int64[n], ns; NONE if there is no such number; negative ones are -1000 at least.
        rows: What else is read of them.
        renamed: How many are the allocator's by their category, and by their name are not.
    """

    first: int
    phase: NDArray[np.uint8]
    is_span: NDArray[np.bool_]
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    rows: Rows
    renamed: int

    @classmethod
    def of(cls, first: int, rows: Rows) -> EventBatch:
        """From rows that hold at least what every event has."""
        kinds = rows.combined["kind"]
        words = [(values.text(ph) or "", values.text(name)) for ph, _, name, *_ in kinds.texts]
        phases = np.array([ord(ph) if len(ph) == 1 and ord(ph) < 256 else 0 for ph, _ in words], np.uint8)
        marks = np.array([ph in ("i", "I") and name != "[memory]" for ph, name in words], np.bool_)
        phase = phases[kinds.numbers]
        ts, dur = (_resolved(rows, key, values.thousandths) for key in ("ts", "dur"))
        ts[np.abs(ts) >= values.LIMIT] = NONE
        np.maximum(dur, -1000, out=dur, where=dur != NONE)
        is_span = (ts != NONE) & ((phase == ord("X")) | marks[kinds.numbers])
        odd = [
            mark and _is_renamed(texts[1], texts[2]) for mark, texts in zip(marks.tolist(), kinds.texts, strict=True)
        ]
        renamed = int(np.count_nonzero(np.array(odd, np.bool_)[kinds.numbers])) if any(odd) else 0
        return cls(first, phase, is_span, ts, dur, rows, renamed)

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def ids(self) -> NDArray[np.int64]:
        """int64[n]: the number of each event, which is its id."""
        return np.arange(self.first, self.first + len(self))

    def integers(self, key: str) -> NDArray[np.int64]:
        """An integer of each event, int64[n]; NONE where there is none, or one that does not fit."""
        return _resolved(self.rows, key, values.int64)

    def unsigned(self, key: str) -> NDArray[np.int64]:
        """An unsigned integer of each event, int64[n]; NONE where there is none.

        The upper half of them is made signed; the last 2^32 are small negative ones, which stand for none.
        """
        return _resolved(self.rows, key, _signed, least=0)

    def keys(self, rows: NDArray[np.int64]) -> pa.Array:
        """The ids of flows as texts, null where there is none."""
        numbers = self.rows.numbers["id"][rows]
        texts = pa.array(numbers, mask=numbers == NONE).cast(pa.string())
        if not (numbers == ODD).any():
            return texts
        odd = {row: values.text(raw) for row, key, raw in self.rows.odd if key == "id"}
        return pa.array(
            [odd[row] if number == ODD else text.as_py()
             for row, number, text in zip(rows.tolist(), numbers.tolist(), texts, strict=True)],
            pa.string(),
        )  # fmt: skip

    def texts(self, combination: str, position: int, rows: NDArray[np.int64]) -> pa.Array:
        """A text of each of some events; null where there is none.

        Args:
            combination: The name of the combination that it is part of.
            position: Its position there.
            rows: The events.
        """
        found = self.rows.combined[combination]
        distinct = [values.text(one[position]) for one in found.texts]
        return _taken(distinct, found.numbers[rows])

    def identities(self, combination: str, position: int, rows: NDArray[np.int64]) -> pa.Array:
        """As `texts`, of processes or threads: integers in their shortest form, "" where there is none."""
        found = self.rows.combined[combination]
        return _taken([values.identity(one[position]) for one in found.texts], found.numbers[rows])

    def has_args(self) -> NDArray[np.bool_]:
        """bool[n]: whether it has arguments, other than null and an object without members."""
        return np.diff(self.rows.inner_offsets) > 0

    def args(self, rows: NDArray[np.int64]) -> pa.Array:
        """The arguments of some events as written, in ascending order of these; null where there are none."""
        offsets, text = self.rows.inner_offsets, pa.py_buffer(self.rows.inner_text)
        lengths = np.diff(offsets)
        if (lengths[rows] > 0).all() and int(lengths[rows].sum()) == offsets[-1]:
            # All that is written belongs to these, as a rule: their text is taken as it is.
            return pa.Array.from_buffers(
                pa.string(), rows.size, [None, pa.py_buffer(np.append(offsets[rows], offsets[-1])), text]
            )
        buffers = [pa.py_buffer(np.packbits(lengths > 0, bitorder="little")), pa.py_buffer(offsets), text]
        return pa.Array.from_buffers(pa.string(), len(self), buffers).take(pa.array(rows))


class EventReader:
    """Reads the events of one recording.

    Attributes:
        text: What is known of its text.
        events: Number of events so far.
        untimed: Intervals, instants and samples without a number as their start.
        endless: Intervals without a number as their duration.
        foreign: Events of kinds that are not read.
        renamed: Events of the allocator whose name is another.
        metadata: Rows (name, process, thread, arguments) of metadata events.

    Args:
        read: Reads the recording.
        layout: What is read of each event, by `layout`.
        block_bytes: Bytes read at a time.
        part_bytes: Bytes scanned at a time.
        first: Number of the first event.
    """

    def __init__(
        self,
        read: ReadInto,
        layout: ScanLayout,
        block_bytes: int = BLOCK_BYTES,
        part_bytes: int = CHUNK_BYTES,
        first: int = 0,
    ) -> None:
        self._first = first
        self.text = EventRows(read, layout, block_bytes, part_bytes)
        self.events = self.untimed = self.endless = self.foreign = self.renamed = 0
        self.metadata: list[tuple[str, str, str, str]] = []

    def __iter__(self) -> Iterator[EventBatch]:
        """The events in order, some ten thousand at a time."""
        for rows in self.text:
            events = EventBatch.of(self._first + self.events, rows)
            self.events += len(events)
            self._count(events)
            self._keep_metadata(events)
            yield events
        self.foreign += self.text.others

    def _count(self, events: EventBatch) -> None:
        """Count events that are no intervals, or lack a time or the name that their kind has."""
        self.renamed += events.renamed
        others = np.bincount(events.phase[~events.is_span], minlength=256)
        instant = (events.phase == ord("i")) | (events.phase == ord("I"))
        timeless = (instant | (events.phase == ord("C"))) & (events.ts == NONE)
        self.untimed += int(others[ord("X")]) + int(np.count_nonzero(timeless))
        self.endless += int(np.count_nonzero(events.is_span & (events.phase == ord("X")) & (events.dur == NONE)))
        self.foreign += int(others.sum() - others[list(_PHASES)].sum())

    def _keep_metadata(self, events: EventBatch) -> None:
        rows = np.flatnonzero((events.phase == ord("M")) & events.has_args())
        if rows.size:
            columns = (events.texts("kind", 2, rows), events.identities("where", 0, rows),
                       events.identities("where", 1, rows), events.args(rows))  # fmt: skip
            self.metadata += zip(*(column.to_pylist() for column in columns), strict=True)


def _is_renamed(category: bytes | None, name: bytes | None) -> bool:
    """Whether an instant has PyTorch's category for the allocator's, and another name than these have."""
    return values.text(category) == _ALLOCATOR and values.text(name) not in _ALLOCATOR_NAMES


def _signed(raw: bytes) -> int | None:
    value = values.integer(raw)
    if value is None or not 0 <= value < 2**64 - 2**32:
        return None
    return value if value < 2**63 else value - (2**63 - 1)


def _resolved(rows: Rows, key: str, convert: object, least: int = NONE) -> NDArray[np.int64]:
    """Numbers, with those converted that are not written plainly; NONE for what is less than `least`."""
    found = rows.numbers[key]
    if rows.odd:
        for row, of, raw in rows.odd:
            if of == key:
                value = convert(raw)  # type: ignore[operator]
                found[row] = NONE if value is None else value
    return found if least == NONE else np.where(found < least, NONE, found)


def _taken(distinct: list[str | None] | list[str], numbers: NDArray[np.int32]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(distinct, pa.string())).cast(pa.string())
