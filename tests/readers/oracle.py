"""What a Kineto trace holds, read slowly and by other means than the reader: one object after the other."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

_DECODER = json.JSONDecoder(strict=False, parse_float=Decimal)

#: Name, category, start and duration in ns; times as recorded.
Row = tuple[str, str, int, "int | None"]


@dataclass(frozen=True)
class Whole:
    """An event and where it lies in the text, in characters."""

    start: int
    end: int
    value: dict[str, Any]


def whole_events(text: str) -> Iterator[Whole]:
    """Every whole object of the event list, up to the list's end or to the first one that is not whole."""
    found = re.search(r'"traceEvents"\s*:\s*\[', text)
    index = found.end() if found else text.find("[") + 1
    while True:
        gap = re.compile(r"[\s,]*").match(text, index)
        assert gap is not None
        index = gap.end()
        if text[index : index + 1] != "{":
            return
        try:
            value, end = _DECODER.raw_decode(text, index)
        except json.JSONDecodeError:
            return
        yield Whole(index, end, value)
        index = end


#: Instants that are no events of the program: allocations, and when the recorder had stopped.
NO_EVENTS = ("[memory]", "Record Window End")


def rows(events: list[Whole]) -> Counter[Row]:
    """Intervals and instants among the events, as the canonical model has them."""
    found: Counter[Row] = Counter()
    for event in events:
        value = event.value
        ts = _ns(value.get("ts"))
        name = str(value.get("name", ""))
        phase = value.get("ph")
        if ts is None or not (phase == "X" or (phase in ("i", "I") and name not in NO_EVENTS)):
            continue
        found[name, str(value.get("cat", "")), ts, _ns(value.get("dur")) if phase == "X" else None] += 1
    return found


def _ns(value: object) -> int | None:
    try:
        return int(Decimal(str(value)) * 1000)
    except InvalidOperation:
        return None
