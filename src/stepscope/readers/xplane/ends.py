"""The text of events behind their times: names and arguments, most of which recur."""

from __future__ import annotations

import json
from typing import Final

from stepscope.readers.xplane.planes import EventName, Plane
from stepscope.readers.xplane.wire import BYTES, BrokenError, fields, signed, varint

#: Bookkeeping of allocators and queues, which the profiler does not show either.
_INTERNAL: Final = frozenset({
    "MemoryAllocation", "MemoryDeallocation", "PrefetchProduce", "PrefetchConsume", "ParallelInterleaveProduce",
    "ParallelInterleaveConsume", "ParallelInterleaveInitializeInput", "ParallelMapProduce", "ParallelMapConsume",
    "MapAndBatchProduce", "MapAndBatchConsume", "ParseExampleProduce", "ParseExampleConsume",
})  # fmt: skip
#: What an event of a device's lane of steps is called.
_STEP_NAME: Final = '"step_name"'

#: A field of an event that is a stat, as it is written.
_STAT: Final = 0x22
#: The fields of a stat that are its name, and a whole number without and with a sign.
_KEY: Final = 0x08
_UNSIGNED: Final = 0x18
_WHOLE: Final = (_UNSIGNED, 0x20)
#: Most texts that are kept of each kind, and characters of those that are.
_MOST_KEPT: Final = 1 << 14
_LONGEST_KEPT: Final = 1 << 11

#: JSON of a value, without white space.
encoded: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

#: Arguments by name, both as JSON.
Args = dict[str, str]


class EventEnds:
    """The text of events of a plane behind their times.

    Attributes:
        unnamed: Whether there are events whose names are lost.
    """

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._names = plane.event_names()
        self._begun: dict[int, tuple[str, Args] | None] = {}
        self._kept: dict[tuple[int, bytes], str] = {}
        self._stats: dict[bytes, Args] = {}
        self._keys = {key: encoded(name) for key, name in plane.said_names.items()}
        self.unnamed = False

    def of(self, name: int, stats: bytes) -> str:
        """The text for a name and stats; empty if such events are not shown."""
        found = self._kept.get((name, stats))
        if found is None:
            found = self._text(name, stats)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            if len(found) <= _LONGEST_KEPT:
                self._kept[name, stats] = found
        return found

    def _text(self, number: int, stats: bytes) -> str:
        begun = self._begun[number] if number in self._begun else self._prepared(number)
        if begun is None:
            return ""
        name, args = begun
        if stats:
            args = {**args}
            try:
                self._add(args, stats)
            except BrokenError as error:
                self._plane.losses.add(error)
        told = f',"args":{{{",".join([f"{key}:{value}" for key, value in args.items()])}}}' if args else ""
        return f',"name":{args.get(_STEP_NAME, name)}{told}}}'

    def _prepared(self, number: int) -> tuple[str, Args] | None:
        """The name of such events, and what is said of all of them; None if they are not shown."""
        named = self._names.get(number)
        if named is None:
            self.unnamed = True
            named = EventName(f"event {number}")
        begun = None
        if (named.long_name or named.name) not in _INTERNAL:
            args = {"long_name": named.long_name} if named.long_name else {}
            begun = encoded(named.name), {encoded(key): encoded(said) for key, said in (*args.items(), *named.stats)}
        if len(self._begun) >= _MOST_KEPT:
            self._begun.clear()
        self._begun[number] = begun
        return begun

    def _add(self, args: Args, stats: bytes) -> None:
        """Add what stats say.

        Raises:
            BrokenError: They can't be read.
        """
        at, end = 0, len(stats)
        while at + 1 < end and stats[at] == _STAT and stats[at + 1] < 0x80:
            start = at + 2
            at = start + stats[at + 1]
            part = stats[start:at]
            said = self._stats.get(part)
            args.update(self._said(part) if said is None else said)
        if at > end:
            raise BrokenError
        for number, kind, start, stop in fields(stats, at, end):
            if (number, kind) == (4, BYTES):
                args.update(self._said(stats[start:stop]))

    def _said(self, part: bytes) -> Args:
        """What a stat says."""
        if len(part) > 3 and part[0] == _KEY and part[1] < 0x80 and part[2] in _WHOLE:
            # Most stats that do not recur are numbers.
            value, stop = varint(part, 3, len(part))
            if stop == len(part):
                key = self._keys.get(part[1], "")
                return {key: f'"{value if part[2] == _UNSIGNED else signed(value)}"'} if key else {}
        said = {encoded(key): encoded(value) for key, value in self._plane.stat(part, 0, len(part))}
        if len(self._stats) >= _MOST_KEPT:
            self._stats.clear()
        if len(part) <= _LONGEST_KEPT:
            self._stats[part] = said
        return said
