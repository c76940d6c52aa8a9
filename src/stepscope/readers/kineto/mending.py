"""Repair text that does not parse as an event: mend it, or join parts of an event that was cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stepscope.model.sizes import SIZES
from stepscope.readers.kineto.mends import MENDS, SEPARATOR, clean_all
from stepscope.readers.kineto.repair import Reading, read_cleaned, repair

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Tells of JSON texts which are events: objects with a phase.
EventCheck = Callable[[Sequence[bytes]], Sequence[bool]]

#: Longest text of joined segments of one event.
_EVENT_LIMIT: Final = 64 << 20
_SEPARATORS: Final = b" \t\r\n,"
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
class Chunk:
    """Consecutive segments of text: events, and between them text that is none.

    Attributes:
        text: Their text.
        starts: Where each segment starts in it, ascending, and its end.
        odd: Index of every segment that is no event, and whether it is JSON at all; ascending.
        dropped: Indices of segments that are left out.
        last: Whether the recording ends with it.
    """

    text: bytes
    starts: list[int]
    odd: dict[int, bool]
    dropped: Collection[int]
    last: bool

    @classmethod
    def of(
        cls, text: bytes, start: NDArray[np.int32], broken: NDArray[np.bool_], dropped: Sequence[int], last: bool
    ) -> Chunk:
        """The segments that start at `start`, and what stands before the first of them."""
        starts, odd = start.tolist(), dict.fromkeys(broken.nonzero()[0].tolist(), False)
        if text[: starts[0] if starts else len(text)].strip(_SEPARATORS):
            odd = {0: True} | {index + 1: False for index in odd}
            starts, dropped = [0, *starts], [index + 1 for index in dropped]
        elif starts:
            starts[0] = 0
        return cls(
            text,
            [*starts, len(text)] if starts else [0],
            {i: odd[i] for i in odd if i not in set(dropped)},
            set(dropped),
            last,
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> bytes:
        return self.text[self.starts[index] : self.starts[index + 1]]

    def joined(self, index: int, stop: int) -> bytes:
        """The text of the segments from `index` to before `stop`."""
        return self.text[self.starts[index] : self.starts[stop]]


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive segments read as one text: from `index`, which is -1 if it began in an earlier chunk, to `stop`."""

    index: int
    stop: int
    reading: Reading


class _Extents:
    """How far what is no event reaches; asked for ascending segments, it looks at each once.

    In noise, each segment is followed by thousands that are no events.
    """

    def __init__(self, chunk: Chunk, left: dict[int, bool]) -> None:
        self._chunk, self._left = chunk, left
        self._known = range(0)

    def of(self, index: int) -> int:
        """Index of the first segment from `index` on that is an event, whole or broken."""
        if index not in self._known:
            stop = index
            while stop in self._left and not (not self._left[stop] and starts_event(self._chunk[stop])):
                stop += 1
            self._known = range(index, stop + 1)
        return self._known[-1]


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
        self._held: list[bytes] | None = None
        self._patience, self._attempts = _PATIENCE, _ATTEMPTS
        self.repaired = 0
        self.lost = 0
        self.cut = False
        self.trailer: str | None = None

    @property
    def waiting(self) -> bool:
        """Whether a chunk must be passed to `mend` even if all of its segments are events."""
        return self._held is not None or self.trailer is not None

    def mend(self, chunk: Chunk) -> bytes:
        """The events of a chunk as text, each of which parses; what can't be mended is left out."""
        self._patience, self._attempts = _PATIENCE, _ATTEMPTS
        broken = [index for index, is_json in chunk.odd.items() if not is_json]
        fixed = self._mend_alone(chunk, broken)
        left = {index: is_json for index, is_json in chunk.odd.items() if index not in fixed}
        runs = list(self._runs(chunk, left))
        last_event = _last_event(chunk, left, runs)
        if self.trailer is not None:
            if last_event < 0:
                if len(self.trailer) <= SIZES.metadata_bytes:  # more is not read
                    self.trailer += chunk.text.decode("utf-8", "replace")
                return b""
            # The apparent end of the list was inside an event.
            self.trailer = None
            self.lost += 1
        runs = self._up_to_end(chunk, runs, last_event)
        self._count(chunk, runs, len(fixed))
        return self._result(chunk, fixed, runs)

    def _mend_alone(self, chunk: Chunk, bad: list[int]) -> dict[int, bytes]:
        """Mend all segments together, with increasingly invasive mends; returns those that became events."""
        fixed: dict[int, bytes] = {}
        texts_of = ((index, chunk[index].strip(_SEPARATORS)) for index in bad)
        segments = [(index, segment) for index, segment in texts_of if _is_alone(segment)]
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

    def _runs(self, chunk: Chunk, left: dict[int, bool]) -> Iterator[_Run]:
        """Read the remaining segments, joining those of a split event."""
        position, extents = 0, _Extents(chunk, left)
        if self._held is not None:
            stop = extents.of(0)
            segments = [*self._held, chunk.joined(0, stop)]
            if stop == len(chunk) and not chunk.last and sum(map(len, segments)) < _EVENT_LIMIT:
                self._held = segments
                return
            self._held = None
            yield _Run(-1, stop, _joined(segments) or repair(segments[0]))
            position = stop
        for index in [index for index, is_json in left.items() if not is_json and index >= position]:
            if index >= position:
                run = self._run_at(chunk, index, extents)
                if run is None:
                    return
                position = run.stop
                yield run

    def _run_at(self, chunk: Chunk, index: int, extents: _Extents) -> _Run | None:
        """The run that starts with a broken segment; None if it may continue in the next chunk."""
        segment = chunk[index]
        reading = read_cleaned(segment)
        stop = extents.of(index + 1) if self._patience > 0 else index + 1
        if reading.open and index + 1 < stop < len(chunk):
            # The common case: an event that holds a list of objects.
            whole = read_cleaned(chunk.joined(index, stop))
            if whole.events and not whole.gaps:
                return _Run(index, stop, whole)
        if reading.gaps and self._attempts > 0:
            reading = repair(segment)
            self._attempts -= bool(reading.lost)
        if reading.open:
            if stop == len(chunk) and not chunk.last:
                self._held = [chunk.joined(index, stop)]
                return None
            joined = _joined([segment, chunk.joined(index + 1, stop)]) if index + 1 < stop else None
            if joined is not None and (not joined.open or stop == len(chunk)):
                return _Run(index, stop, joined)
            self._patience -= chunk.starts[stop] - chunk.starts[index]
        return _Run(index, index + 1, reading)

    def _up_to_end(self, chunk: Chunk, runs: list[_Run], last_event: int) -> list[_Run]:
        """The runs up to the end of the event list, if that is among them."""
        for number, run in enumerate(runs):
            if run.reading.rest is None:
                continue
            if run.stop > last_event:
                following = chunk.joined(run.stop, len(chunk))
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

    def _result(self, chunk: Chunk, fixed: dict[int, bytes], runs: list[_Run]) -> bytes:
        """The text of a chunk with what is used instead of some of its segments."""
        instead: dict[int, list[bytes]] = {index: [] for index in (*chunk.odd, *chunk.dropped)}
        instead |= {index: [text] for index, text in fixed.items()}
        texts = [[text.encode("utf-8", "replace") for text in run.reading.events] for run in runs]
        # Python's parser accepts a little more than the scanner.
        good = iter(self._check([text for found in texts for text in found]))
        before: list[bytes] = []
        for run, found in zip(runs, texts, strict=True):
            events = [text for text in found if next(good)]
            self.lost += len(found) - len(events)
            instead |= {index: [] for index in range(max(run.index, 0), run.stop)}
            if run.index < 0:
                before = events
            else:
                instead[run.index] = events
        return b",\n".join((*before, *_replaced(chunk, instead)))


def _is_alone(segment: bytes) -> bool:
    """Whether a segment may be exactly one event: no part of one, and not several."""
    return segment.count(b"{") == segment.count(b"}") and segment.count(b'"ph"') < 2


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
    reading = repair(b"".join(segments))
    return reading if not reading.lost and (reading.events or reading.open) else None


def _last_event(chunk: Chunk, left: dict[int, bool], runs: list[_Run]) -> int:
    """Index of the last segment with an event; -1 if there is none."""
    found = max((run.index if run.index >= 0 else 0 for run in runs if run.reading.events), default=-1)
    return max(found, next((index for index in range(len(chunk) - 1, -1, -1) if index not in left), -1))


def _replaced(chunk: Chunk, instead: dict[int, list[bytes]]) -> Iterator[bytes]:
    """The segments in order, some of them replaced."""
    done = 0
    for index in sorted(instead):
        yield chunk.joined(done, index)
        yield from instead[index]
        done = index + 1
    yield chunk.joined(done, len(chunk))
