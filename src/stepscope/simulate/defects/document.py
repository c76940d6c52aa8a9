"""Split a written trace into the text before its events, the events, and the text after them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

_OPENING = '"traceEvents": [\n'
_CLOSING = "\n  ],\n"
_BETWEEN = ",\n  {\n"


@dataclass(frozen=True, slots=True)
class Document:
    """``head`` and ``tail`` are object fields as text; ``events`` are the events' texts, without commas."""

    head: str
    events: tuple[str, ...]
    tail: str

    @classmethod
    def parse(cls, data: bytes) -> Document:
        """Split the Kineto writer's text."""
        text = data.decode()
        start = text.index(_OPENING) + len(_OPENING)
        end = text.rindex(_CLOSING)
        first, *rest = text[start:end].split(_BETWEEN)
        return cls(text[:start], (first, *("  {\n" + event for event in rest)), text[end:])

    def bytes(self) -> bytes:
        """The document as bytes."""
        return (self.head + ",\n".join(self.events) + self.tail).encode()

    def map(self, change: Callable[[str], str], chosen: Iterable[int]) -> Document:
        """The document with some events' texts changed."""
        wanted = set(chosen)
        return replace(
            self, events=tuple(change(event) if i in wanted else event for i, event in enumerate(self.events))
        )

    def find(self, *categories: str, every: int = 1) -> list[int]:
        """Places of interval events of these categories (all, if none is given), every n-th of them."""
        found = [
            index
            for index, event in enumerate(self.events)
            if '"ph": "X"' in event[:20] and (not categories or category(event) in categories)
        ]
        return found[::every]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A defective file.

    Attributes:
        data: its bytes.
        total: events that were written into it, whole or broken.
        readable: of these, how many a repairing reader must still deliver.
        touched: events the defect changed.
        note: what is expected to remain, in words.
    """

    data: bytes
    total: int
    readable: int
    touched: int
    note: str


def category(event: str) -> str:
    """The category of an event's text."""
    match = re.search(r'"cat": "(\w+)"', event)
    return match[1] if match else ""


def number(event: str, field: str) -> int:
    """A time field of an event's text, in ns."""
    match = re.search(rf'"{field}": (-?\d+)\.(\d{{3}})', event)
    if match is None:
        raise ValueError(f"event has no {field}: {event[:80]}")
    return int(match[1] + match[2])


def with_number(event: str, field: str, ns: int) -> str:
    """The event with another time."""
    sign, digits = ("-" if ns < 0 else ""), f"{abs(ns):04d}"
    return re.sub(rf'"{field}": -?[\d.]+', f'"{field}": {sign}{digits[:-3]}.{digits[-3:]}', event, count=1)


def with_name(event: str, change: Callable[[str], str]) -> str:
    """The event with its name's text (between the quotes) changed."""
    return re.sub(r'"name": "((?:[^"\\]|\\.)*)"', lambda m: f'"name": "{change(m[1])}"', event, count=1)


def unbroken(document: Document, touched: int, note: str) -> Damaged:
    """A defective file whose events can all be read."""
    count = len(document.events)
    return Damaged(document.bytes(), count, count, touched, note)
