"""Repair segments that are no events: mend them, or join segments of a split event."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from stepscope.model.sizes import SIZES
from stepscope.readers.kineto.framing import EVENT_LIMIT, Chunk, unblanked
from stepscope.readers.kineto.mends import MENDS, SEPARATOR, clean_all
from stepscope.readers.kineto.repair import Reading, read_cleaned, repair

#: Tells of JSON texts which are events: objects with a phase.
EventCheck = Callable[[Sequence[bytes]], Sequence[bool]]

_KEY_FIRST: Final = re.compile(rb'\s*\{\s*"[^"\\]*"\s*:')
_PHASE: Final = re.compile(rb'"ph"\s*:')
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
#: Most text of a chunk joined without success: in noise every segment looks like the start of an event that contains
#: all that follows.
_PATIENCE: Final = 16 << 20
#: Most segments of a chunk mended one by one without success, at some milliseconds each: noise follows the damage of a
#: compressed stream.
_ATTEMPTS: Final = 300


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive segments read as one text: `first` is the id of the first one, `stop` follows the last."""

    first: int
    index: int
    stop: int
    reading: Reading


@dataclass(slots=True)
class Mended:
    """Replacements of some segments of a chunk.

    Attributes:
        excluded: Indices of the segments to leave out.
        ids: Ids of the replacing events.
        texts: Texts of these events.
        shifts: (index, n): ids of segments from this index on increase by n, if more events than segments were found.
    """

    excluded: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    shifts: list[tuple[int, int]] = field(default_factory=list)


class Mender:
    """Repairs the chunks of one trace, in order.

    Attributes:
        repaired: Number of events whose JSON had to be mended.
        lost: Number of unreadable stretches of text.
        cut: Whether the recording ends inside an event.
        trailer: Text after the end of the event list; None until the end is found.
    """

    def __init__(self, check: EventCheck) -> None:
        self._check = check
        self._held: tuple[int, list[bytes]] | None = None
        self._patience, self._attempts = _PATIENCE, _ATTEMPTS
        self.repaired = 0
        self.lost = 0
        self.cut = False
        self.trailer: str | None = None

    @property
    def waiting(self) -> bool:
        """Whether a chunk must be passed to `mend` even if all of its segments are events."""
        return self._held is not None or self.trailer is not None

    def mend(self, chunk: Chunk, first: int, odd: dict[int, bool]) -> Mended:
        """Read the odd segments of a chunk.

        Args:
            chunk: The chunk.
            first: Id of its first segment.
            odd: Index of every segment that is no event, in ascending order, and whether it is JSON at all.
        """
        self._patience, self._attempts = _PATIENCE, _ATTEMPTS
        broken = [index for index, is_json in odd.items() if not is_json]
        fixed = self._mend_alone(chunk, broken)
        left = {index: is_json for index, is_json in odd.items() if index not in fixed}
        runs = list(self._runs(chunk, first, left))
        last_event = _last_event(chunk, left, runs)
        if self.trailer is not None:
            if last_event < 0:
                if len(self.trailer) <= SIZES.metadata_bytes:  # more is not read
                    self.trailer += _text(chunk, 0, len(chunk)).decode("utf-8", "replace")
                return Mended(broken)
            # The apparent end of the list was inside an event.
            self.trailer = None
            self.lost += 1
        runs = self._up_to_end(chunk, runs, last_event)
        self._count(chunk, runs, len(fixed))
        return self._result(first, broken, fixed, runs)

    def _mend_alone(self, chunk: Chunk, bad: list[int]) -> dict[int, bytes]:
        """Mend all segments together, with increasingly invasive mends; returns those that became events."""
        fixed: dict[int, bytes] = {}
        segments = [(index, segment) for index, segment in zip(bad, chunk.take(bad), strict=True) if _is_alone(segment)]
        bad = [index for index, _ in segments]
        texts = [segment for _, segment in segments]
        for mend in (None, *MENDS):
            if not bad:
                break
            before = texts
            texts = (clean_all(texts) if mend is None else mend(SEPARATOR.join(texts))).split(SEPARATOR)
            if texts == before:
                continue
            good = self._check(texts)
            fixed.update((index, text) for index, text, ok in zip(bad, texts, good, strict=True) if ok)
            texts = [text for text, ok in zip(texts, good, strict=True) if not ok]
            bad = [index for index, ok in zip(bad, good, strict=True) if not ok]
        return fixed

    def _runs(self, chunk: Chunk, first: int, left: dict[int, bool]) -> Iterator[_Run]:
        """Read the remaining segments, joining those of a split event."""
        position = 0
        if self._held is not None:
            held_first, segments = self._held
            stop = _extent(chunk, 0, left)
            segments = [*segments, *(chunk[i] for i in range(stop))]
            if stop == len(chunk) and not chunk.last and sum(map(len, segments)) < EVENT_LIMIT:
                self._held = (held_first, segments)
                return
            self._held = None
            yield _Run(held_first, -1, stop, _joined(segments) or repair(segments[0]))
            position = stop
        for index in [index for index, is_json in left.items() if not is_json and index >= position]:
            if index >= position:
                run = self._run_at(chunk, first, index, left)
                if run is None:
                    return
                position = run.stop
                yield run

    def _run_at(self, chunk: Chunk, first: int, index: int, left: dict[int, bool]) -> _Run | None:
        """The run that starts with a broken segment; None if it may continue in the next chunk."""
        segment = unblanked(chunk[index])
        reading = read_cleaned(segment)
        stop = _extent(chunk, index + 1, left) if self._patience > 0 else index + 1
        if reading.open and index + 1 < stop < len(chunk):
            # The common case: an event that holds a list of objects.
            whole = read_cleaned(_text(chunk, index, stop))
            if whole.events and not whole.gaps:
                return _Run(first + index, index, stop, whole)
        if reading.gaps and self._attempts > 0:
            reading = repair(segment)
            self._attempts -= bool(reading.lost)
        if reading.open:
            if stop == len(chunk) and not chunk.last:
                self._held = (first + index, [chunk[i] for i in range(index, stop)])
                return None
            joined = _joined([chunk[i] for i in range(index, stop)])
            if joined is not None and (not joined.open or stop == len(chunk)):
                return _Run(first + index, index, stop, joined)
            self._patience -= sum(len(chunk[i]) for i in range(index, stop))
        return _Run(first + index, index, index + 1, reading)

    def _up_to_end(self, chunk: Chunk, runs: list[_Run], last_event: int) -> list[_Run]:
        """The runs up to the end of the event list, if that is among them."""
        for number, run in enumerate(runs):
            if run.reading.rest is None:
                continue
            if run.stop > last_event:
                following = _text(chunk, run.stop, len(chunk))
                self.trailer = run.reading.rest + following.decode("utf-8", "replace")
                return runs[: number + 1]
            self.lost += not run.reading.lost and bool(run.reading.rest.strip(" ,]}"))
        return runs

    def _count(self, chunk: Chunk, runs: list[_Run], fixed: int) -> None:
        self.repaired += fixed
        for run in runs:
            reading = run.reading
            self.lost += reading.lost
            self.repaired += reading.repaired
            if reading.open:
                at_end = chunk.last and run.stop == len(chunk)
                self.cut = self.cut or at_end
                self.lost += not at_end

    def _result(self, first: int, broken: list[int], fixed: dict[int, bytes], runs: list[_Run]) -> Mended:
        result = Mended(broken)
        texts = [[text.encode("utf-8", "replace") for text in run.reading.events] for run in runs]
        # Python's parser accepts a little more than DuckDB's.
        good = iter(self._check([text for found in texts for text in found]))
        for run, found in zip(runs, texts, strict=True):
            result.excluded += range(max(run.index, 0), run.stop)
            events = [text for text in found if next(good)]
            self.lost += len(found) - len(events)
            start = run.first if run.index < 0 else run.first + _shift(result, run.index)
            result.ids += range(start, start + len(events))
            result.texts += events
            surplus = len(events) - (first + run.stop - run.first)
            if surplus > 0:
                result.shifts.append((run.stop, surplus))
        result.ids += [first + index for index in fixed]
        if result.shifts and fixed:
            result.ids[-len(fixed) :] = [first + index + _shift(result, index) for index in fixed]
        result.texts += fixed.values()
        return result


def _is_alone(segment: bytes) -> bool:
    """Whether a segment may be exactly one event: no part of one, and not several."""
    return segment.count(b"{") == segment.count(b"}") and segment.count(b'"ph"') < 2


def _extent(chunk: Chunk, index: int, left: dict[int, bool]) -> int:
    """Index of the first segment from `index` on that is an event, whole or broken."""
    while index in left and not (not left[index] and starts_event(chunk[index])):
        index += 1
    return index


def starts_event(segment: bytes) -> bool:
    """Whether a broken segment is the start of an event, not the end of one: its phase is at the outer level."""
    phase = _PHASE.search(segment)
    if phase is None or _KEY_FIRST.match(segment) is None:
        return False
    before = _STRING.sub(b"", segment[: phase.start()])
    return before.count(b"{") > before.count(b"}") and before.count(b"[") >= before.count(b"]")


def _joined(segments: list[bytes]) -> Reading | None:
    """The reading of segments joined to one text; None if they don't belong together."""
    if len(segments) == 1:
        return None
    reading = repair(b"".join(unblanked(segment) for segment in segments))
    return reading if not reading.lost and (reading.events or reading.open) else None


def _last_event(chunk: Chunk, left: dict[int, bool], runs: list[_Run]) -> int:
    """Index of the last segment with an event; -1 if there is none."""
    found = max((run.index if run.index >= 0 else 0 for run in runs if run.reading.events), default=-1)
    return max(found, next((index for index in range(len(chunk) - 1, -1, -1) if index not in left), -1))


def _text(chunk: Chunk, index: int, stop: int) -> bytes:
    """The text of the segments from `index` to before `stop`."""
    return b"".join(unblanked(chunk[i]) for i in range(index, stop))


def _shift(result: Mended, index: int) -> int:
    return sum(surplus for start, surplus in result.shifts if start <= index)
