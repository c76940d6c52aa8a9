"""A text that is not one JSON object: the events in it, and what is left."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from stepscope.readers.kineto.mends import MENDS, clean, double_all_backslashes
from stepscope.readers.kineto.quotes import escape_inner_quotes

# Integers are read as floats since Python refuses to convert very long ones; nobody uses the values.
_DECODER: Final = json.JSONDecoder(strict=False, parse_int=float)
_SPACE: Final = re.compile(r"[\s,\ufeff]*")
_EVENTS_KEY: Final = re.compile(r'"traceEvents"\s*:\s*\[')
_EVENT_START: Final = re.compile(r'\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|bp|s|tts)"\s*:')
#: The end of the event list, after an event that can't be read.
_LIST_END: Final = re.compile(r'\}\s*\](?=\s*(?:,\s*"[^"\\]*"\s*:|\}\s*$))')
#: Places in one text at which an event is looked for in vain before the search is given up.
_TRIES: Final = 256


@dataclass(slots=True)
class Reading:
    """What could be read from a text.

    Attributes:
        events: JSON texts of whole events.
        rest: What follows the end of the event list, if it ends in this text; else None.
        open: Whether the text ends inside an object: cut too early, or the recording was.
        lost: Number of stretches of text that could not be read.
        mended: Whether the text had to be changed.
    """

    events: list[str] = field(default_factory=list)
    rest: str | None = None
    open: bool = False
    lost: int = 0
    mended: bool = False

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return not (self.open or self.lost)


def repair(text: bytes) -> Reading:
    """Read what can be read of a text, mended as little as possible."""
    best: Reading | None = None
    for mended, candidate in _candidates(text):
        reading = read(candidate.decode("utf-8", "replace"))
        reading.mended = mended
        if best is None or (len(reading.events), -reading.lost, -reading.open) > (
            len(best.events), -best.lost, -best.open
        ):  # fmt: skip
            best = reading
        if best.whole:
            break
    assert best is not None
    return best


def _candidates(text: bytes) -> Iterator[tuple[bool, bytes]]:
    data = clean(text)
    # White space outside strings is blanked too: only the parser can tell whether anything was mended.
    yield _has_inner_control(text), data
    for mend in MENDS[:2]:
        data = mend(data)
        yield True, data
    yield True, MENDS[2](data)
    yield True, escape_inner_quotes(data.decode("utf-8", "replace")).encode("utf-8", "replace")
    yield True, double_all_backslashes(clean(text))


def _has_inner_control(text: bytes) -> bool:
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return True
    return any(ord(char) < 32 and char not in "\t\r\n" for char in decoded)


def read(text: str) -> Reading:
    """The whole events in a text, by a strict parser."""
    reading = Reading()
    index = 0
    while True:
        index = _SPACE.match(text, index).end()  # type: ignore[union-attr]
        if index >= len(text):
            return reading
        if text[index] == "]":
            again = _EVENTS_KEY.search(text, index)
            if again is None:
                reading.rest = text[index + 1 :]
                return reading
            index = again.end()
            continue
        decoded = _decode(text, index)
        if isinstance(decoded, int):
            end = decoded
        else:
            reading.open = text[index] == "{" and _runs_out(text, decoded)
            found = _next_event(text, index + 1)
            if found is None:
                reading.lost += not reading.open
                _find_end(reading, text, index)
                return reading
            reading.lost += 1
            reading.open = False
            index, end = found
        if _is_event(text, index, end):
            reading.events.append(text[index:end])
        index = end


def _decode(text: str, index: int) -> int | Exception:
    """Where the object at `index` ends, or why it can't be read."""
    if text[index] != "{":
        return ValueError("no object")
    try:
        return int(_DECODER.raw_decode(text, index)[1])
    except (ValueError, RecursionError) as error:
        return error


def _is_event(text: str, start: int, end: int) -> bool:
    return '"ph"' in text[start:end] and "ph" in _DECODER.raw_decode(text, start)[0]


def _next_event(text: str, index: int) -> tuple[int, int] | None:
    """Begin and end of the next whole event in a text that begins with something else."""
    for tries, match in enumerate(_EVENT_START.finditer(text, index)):
        if tries >= _TRIES:
            break
        end = _decode(text, match.start())
        if isinstance(end, int) and _is_event(text, match.start(), end):
            return match.start(), end
    return None


def _find_end(reading: Reading, text: str, index: int) -> None:
    """Find the end of the event list after a broken last event."""
    ends = list(_LIST_END.finditer(text, index))
    if ends:
        reading.rest = text[ends[-1].end() :]
        if reading.open:
            reading.open = False
            reading.lost += 1


def _runs_out(text: str, error: Exception) -> bool:
    """Whether decoding failed since the text ended, not since it is wrong."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    # A literal or an escape that was cut is reported where it begins.
    return error.msg.startswith("Unterminated string") or len(text.rstrip(" ,")) - error.pos < 8
