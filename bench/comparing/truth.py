"""What is planted in a recording, and what a comparison must say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.comparing.trace import Insert, PlantedTrace
from bench.kineto_json import Event
from stepscope.model.kernel_names import classify

#: What is planted is about this share of the steps' time.
SHARE: Final = 0.1
#: Kernels of a name that are changed hold at least this share.
LEAST: Final = 0.015


@dataclass(frozen=True, slots=True)
class Truth:
    """What was planted.

    Attributes:
        added_ns: By how much all steps together grew.
        steps: How many steps there are.
        parts: Parts of the step of which the first cause must name one, and surely; empty where what is planted is no
            time.
        words: Words of which one must stand in that cause; of each where there are several groups of them.
        slow: How many of the steps stall; 0 where all changed alike.
        memory: By how much the peak of memory grew, as a share.
    """

    added_ns: int
    steps: int
    parts: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    slow: int = 0
    memory: float = 0.0


class NotThereError(Exception):
    """The recording has nothing that the plant changes."""


def mean_step(trace: PlantedTrace) -> int:
    """Length of the mean step."""
    return sum(end - start for start, end in trace.steps) // max(1, len(trace.steps))


def whole(trace: PlantedTrace) -> int:
    """Length of all steps together."""
    return sum(end - start for start, end in trace.steps)


def alone(trace: PlantedTrace, chosen: Sequence[Event]) -> list[Event]:
    """Those of these activities beside which no other runs: time put in there is theirs."""
    ends, kept, work = 0, list[Event](), trace.work()
    wanted = {id(one) for one in chosen}
    for one, following in zip(work, [*work[1:], None], strict=True):
        end = one["ts"] + one["dur"]
        if id(one) in wanted and ends <= one["ts"] and (following is None or end <= following["ts"]):
            kept.append(one)
        ends = max(ends, end)
    return kept


def frequent(trace: PlantedTrace) -> list[Event]:
    """Kernels of the name that holds about a tenth of the steps' time and runs often."""
    found: dict[str, list[Event]] = {}
    for one in trace.kernels():
        if trace.inside(one["ts"]) and one["dur"] > 30:
            found.setdefault(str(one["name"]), []).append(one)
    least = LEAST * whole(trace)
    often = {
        name: events
        for name, events in found.items()
        if len(events) >= 3 * len(trace.steps) and sum(one["dur"] for one in events) > least
    }
    if not often:
        raise NotThereError
    return min(often.values(), key=lambda events: abs(sum(one["dur"] for one in events) - SHARE * whole(trace)))


def numbered(trace: PlantedTrace, events: Sequence[Event]) -> list[int]:
    """The place of each of these events, in order of time, among those of its step."""
    found, last, place = list[int](), -1, 0
    starts = [start for start, _ in trace.steps]
    for one in events:
        step = sum(start <= one["ts"] for start in starts)
        place = place + 1 if step == last else 0
        last = step
        found.append(place)
    return found


def apart(inserts: list[Insert]) -> list[Insert]:
    """Those that start after the one before has ended."""
    kept: list[Insert] = []
    for one in sorted(inserts):
        if not kept or one[0] >= kept[-1][1]:
            kept.append(one)
    return kept


def named(name: str) -> tuple[str, ...]:
    """What a kernel may be called: its class, or its name."""
    found = classify(name)
    return found.op_class, found.short.lower()[:20]


def dims_key(event: Event) -> str:
    """Name of the argument that holds shapes."""
    return "Input Dims" if "Input Dims" in event["args"] else "Input dims"


def dims_of(event: Event) -> Any:
    """Shapes of an operator's inputs."""
    return event["args"].get(dims_key(event)) or [] if event.get("args") else []
