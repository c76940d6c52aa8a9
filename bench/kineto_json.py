"""Traces of PyTorch as data: read with times in exact nanoseconds, changed at will, and written again."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TextIO

Event = dict[str, Any]

_TIMES: Final = ("ts", "dur")


@dataclass(slots=True)
class Timeline:
    """A trace of PyTorch.

    Attributes:
        head: What stands beside the events.
        events: Events as written, but for `ts` and `dur`: integer ns.
        bare: Whether the file is a bare list of events, as some of 2021 are.
    """

    head: dict[str, Any]
    events: list[Event]
    bare: bool = False

    @classmethod
    def load(cls, path: Path) -> Timeline:
        """Read a .json or .json.gz file."""
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8", errors="replace") as file:
            trace = json.load(file, strict=False, parse_float=Decimal)
        bare = isinstance(trace, list)
        head: dict[str, Any] = {} if bare else trace
        events = trace if bare else head.pop("traceEvents")
        for event in events:
            for name in _TIMES:
                if name in event:
                    event[name] = int(Decimal(event[name]) * 1000)
        return cls(head, events, bare)

    def save(self, path: Path) -> None:
        """Write it, compressed if the name ends in .gz."""
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "wt", encoding="utf-8") as out:
            self.start(out)
            out.write(",\n".join(map(dumps, self.events)))
            self.end(out)

    def start(self, out: TextIO) -> None:
        """Write what stands before the events."""
        head = json.dumps(self.head, default=float)[:-1]
        out.write("[\n" if self.bare else head + (', "traceEvents": [\n' if self.head else '"traceEvents": [\n'))

    def end(self, out: TextIO) -> None:
        """Write what stands after the events."""
        out.write("\n]\n" if self.bare else "\n]}\n")

    @property
    def timed(self) -> list[Event]:
        """Events with a time; names of threads have none."""
        return [event for event in self.events if event.get("ph") != "M" and "ts" in event]


def dumps(event: Event) -> str:
    """An event laid out over lines as Kineto does."""
    args = event.get("args")
    head = ", ".join(f"{json.dumps(key)}: {_value(key, value)}" for key, value in event.items() if key != "args")
    if args is None:
        return f"  {{\n    {head}\n  }}"
    return f'  {{\n    {head},\n    "args": {{\n      {json.dumps(args, default=float)[1:-1]}\n    }}\n  }}'


def _value(key: str, value: Any) -> str:
    if key not in _TIMES:
        return json.dumps(value, default=float)
    whole, rest = divmod(value, 1000)
    return f"{whole}.{rest:03d}" if rest else str(whole)
