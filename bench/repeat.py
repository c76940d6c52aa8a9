"""A real trace, repeated one after the other to a wished size, as if the job had been recorded for longer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from bench.kineto_json import Event, Timeline, dumps

#: Numbers that tie events together within one repetition; each repetition gets its own.
_IDS: Final = ("External id", "correlation", "Ev Idx", "Python id", "Python parent id", "Record function id")

#: Between two repetitions, in ns.
_PAUSE: Final = 1_000_000


def repeat(source: Path, target: Path, size: int, least_events: int = 0) -> int:
    """Write `source` (.json or .json.gz) to `target` as often as needed for so many bytes and events.

    Returns:
        The repetitions.
    """
    trace = Timeline.load(source)
    trace.bare = False
    timed = trace.timed
    repetition = _Repetition(timed)
    count = 0
    with target.open("w", encoding="utf-8") as out:
        trace.start(out)
        out.write(",\n".join(dumps(event) for event in trace.events if event.get("ph") == "M"))
        while out.tell() < size or count * len(timed) < least_events:
            for event in timed:
                out.write(",\n" + dumps(repetition.shifted(event, count)))
            count += 1
        trace.end(out)
    return count


def repeated(trace: Timeline, times: int, period: int = 0) -> Timeline:
    """The same, in memory; one starts so many ns after the one before, or as soon as that has ended."""
    timed = trace.timed
    repetition = _Repetition(timed, period)
    others = [event for event in trace.events if event.get("ph") == "M" or "ts" not in event]
    return Timeline(
        trace.head,
        others + [repetition.shifted(event, count) for count in range(times) for event in timed],
        trace.bare,
    )


class _Repetition:
    """How far times, ids and numbers of steps move from one repetition to the next."""

    def __init__(self, timed: list[Event], period: int = 0) -> None:
        first = min(event["ts"] for event in timed)
        self._span = period or max(event["ts"] + event.get("dur", 0) for event in timed) - first + _PAUSE
        self._stride = 1 + max((_largest_id(event) for event in timed), default=0)
        numbers = [_step_number(event) for event in timed if str(event.get("name")).startswith("ProfilerStep#")]
        self._steps = 1 + max(numbers) - min(numbers) if numbers else 0

    def shifted(self, event: Event, count: int) -> Event:
        """An event of the repetition that comes after so many others."""
        ids = self._stride * count
        moved = {**event, "ts": event["ts"] + self._span * count}
        if "id" in event and isinstance(event["id"], int):
            moved["id"] = event["id"] + ids
        args = event.get("args")
        if args:
            moved["args"] = {k: v + ids if k in _IDS and isinstance(v, int) and v > 0 else v for k, v in args.items()}
        if self._steps and str(event.get("name")).startswith("ProfilerStep#"):
            moved["name"] = f"ProfilerStep#{_step_number(event) + self._steps * count}"
        return moved


def _largest_id(event: Event) -> int:
    args = event.get("args") or {}
    values = [args.get(key) for key in _IDS] + [event.get("id")]
    return max((v for v in values if isinstance(v, int)), default=0)


def _step_number(event: Event) -> int:
    match = re.match(r"ProfilerStep#(\d+)", event.get("name", ""))
    return int(match.group(1)) if match else 0
