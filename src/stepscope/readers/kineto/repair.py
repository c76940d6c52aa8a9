"""Extract the events from text that is not one JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from stepscope.readers.kineto.mends import clean, double_all_backslashes, double_backslashes, escape_quotes, mend_values
from stepscope.readers.kineto.quotes import escape_inner_quotes

# Integers are read as floats since Python refuses to convert very long ones; nobody uses the values.
_DECODER: Final = json.JSONDecoder(strict=False, parse_int=float)
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_SPACE: Final = re.compile(r"[\s,\ufeff]*")
_EVENTS_KEY: Final = re.compile(r'"traceEvents"\s*:\s*\[')
_EVENT_START: Final = re.compile(r'\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|bp|s|tts)"\s*:')
#: The end of the event list, after an event that can't be read.
_LIST_END: Final = re.compile(r'\}\s*\](?=\s*(?:,\s*"[^"\\]*"\s*:|\}\s*$))')
#: Most failed attempts to find an event in one text.
_TRIES: Final = 256


@dataclass(slots=True)
class Gap:
    """Text that is no event; `at` is the number of events before it."""

    at: int
    text: str


@dataclass(slots=True)
class Reading:
    """Result of reading a text.

    Attributes:
        events: JSON texts of whole events.
        gaps: Unreadable parts; the last one is the open end if there is one.
        rest: Text after the end of the event list if that is in this text; else None.
        open: Whether the text ends inside an object, since it was split wrongly or the recording is truncated.
        repaired: Number of events for which the text had to be changed.
    """

    events: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    rest: str | None = None
    open: bool = False
    repaired: int = 0

    @property
    def lost(self) -> int:
        """Number of unreadable parts, excluding an open end."""
        return len(self.gaps) - self.open


def read_cleaned(segment: bytes) -> Reading:
    """Read the events of a text after blanking control characters."""
    reading = read(clean(segment).decode("utf-8", "replace"))
    reading.repaired = len(reading.events) if reading.events and _was_changed(segment) else 0
    return reading


def repair(segment: bytes) -> Reading:
    """Read the events of a text, mending as little as possible; whole events are unchanged."""
    reading = read_cleaned(segment)
    gaps, reading.gaps = reading.gaps, []
    added = 0
    for gap in gaps:
        at_end = gap is gaps[-1] and reading.rest is None
        mended = _mended(gap.text)
        gap.at += added
        if mended is None or not (mended.events or at_end):
            reading.gaps.append(gap)
            continue
        reading.events[gap.at : gap.at] = mended.events
        reading.gaps += (Gap(gap.at + inner.at, inner.text) for inner in mended.gaps)
        if not (mended.events or mended.gaps) and '"ph"' in gap.text:
            # Mending changed the event's structure.
            reading.gaps.append(gap)
        reading.repaired += len(mended.events)
        added += len(mended.events)
        if at_end:
            reading.open, reading.rest = mended.open, mended.rest
    return reading


def _mended(text: str) -> Reading | None:
    """The best reading of a mended text; None if mending does not help."""
    best: Reading | None = None
    best_score = -1
    for candidate in _candidates(text.encode("utf-8", "replace")):
        reading = read(candidate.decode("utf-8", "replace"))
        score = len(reading.events) - reading.lost
        if score > best_score:
            best, best_score = reading, score
            if not reading.gaps:
                break
    return best


def _candidates(raw: bytes) -> Iterator[bytes]:
    data = double_backslashes(raw)
    yield data
    yield escape_quotes(data)
    data = mend_values(data)
    yield data
    yield escape_inner_quotes(data.decode("utf-8", "replace")).encode("utf-8", "replace")
    yield double_all_backslashes(raw)


def _was_changed(segment: bytes) -> bool:
    """Whether `clean` changes more than white space."""
    if _CONTROL.search(segment) is not None:
        return True
    try:
        segment.decode()
    except UnicodeDecodeError:
        return True
    return False


def read(text: str) -> Reading:
    """Read the whole events in a text with a strict parser."""
    reading = Reading()
    index = 0
    while True:
        index = _SPACE.match(text, index).end()  # type: ignore[union-attr]
        if index >= len(text):
            return reading
        if text[index] == "]":
            following = _after_bracket(text, index)
            if following is None:
                reading.rest = text[index + 1 :]
                return reading
            index = following
            continue
        end = _decode(text, index)
        if isinstance(end, Exception):
            found = _next_event(text, index + 1)
            if found is None:
                _read_end(reading, text, index, end)
                return reading
            reading.gaps.append(Gap(len(reading.events), text[index : found[0]]))
            index, end = found
        if _is_event(text, index, end):
            reading.events.append(text[index:end])
        index = end


def _after_bracket(text: str, index: int) -> int | None:
    """Offset at which events continue after a bracket (another list, or a stray bracket); None if they don't."""
    again = _EVENTS_KEY.search(text, index)
    if again is not None:
        return again.end()
    found = _next_event(text, index + 1)
    return None if found is None else found[0]


def _read_end(reading: Reading, text: str, index: int, error: Exception) -> None:
    """Interpret the text after the last event: a broken event, or the end of the list."""
    ends = list(_LIST_END.finditer(text, index))
    stop = ends[-1].end() if ends else len(text)
    reading.gaps.append(Gap(len(reading.events), text[index:stop]))
    if ends:
        reading.rest = text[stop:]
    else:
        reading.open = text[index] == "{" and _runs_out(text, error)


def _decode(text: str, index: int) -> int | Exception:
    """Offset of the end of the object at `index`, or the error."""
    if text[index] != "{":
        return ValueError("no object")
    try:
        return int(_DECODER.raw_decode(text, index)[1])
    except (ValueError, RecursionError) as error:
        return error


def _is_event(text: str, start: int, end: int) -> bool:
    return '"ph"' in text[start:end] and "ph" in _DECODER.raw_decode(text, start)[0]


def _next_event(text: str, index: int) -> tuple[int, int] | None:
    """Start and end of the next whole event after unreadable text; None if there is none."""
    for tries, match in enumerate(_EVENT_START.finditer(text, index)):
        if tries >= _TRIES:
            break
        end = _decode(text, match.start())
        if isinstance(end, int) and _is_event(text, match.start(), end):
            return match.start(), end
    return None


def _runs_out(text: str, error: Exception) -> bool:
    """Whether decoding failed because the text ended, not because it is invalid."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    # The error of a truncated literal or escape is at its start.
    return error.msg.startswith("Unterminated string") or len(text.rstrip(" ,")) - error.pos < 8
