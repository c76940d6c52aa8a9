"""Whether two sides can be compared: what differs between the recordings, and what that makes doubtful."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from stepscope.analyses.program import program_of
from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.analyses.steps.throughput import throughput
from stepscope.comparison.side import ComparedSide
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace

Tone = Literal["info", "warning"]


@dataclass(frozen=True, slots=True)
class RecordedDifference:
    """Something about the recordings that differs.

    Attributes:
        what: What it is about.
        base: What the base has; `unknown` where it does not tell.
        new: What the new one has.
        effect: What it makes doubtful.
        tone: Whether figures are affected (warning) or it only explains them (info).
    """

    what: str
    base: str
    new: str
    effect: str
    tone: Tone = "warning"


_UNITS: Final = {
    "step": "steps", "host step": "steps, of the host alone", "window": "no steps: the whole recording",
    "none": "no steps and no device activity",
}  # fmt: skip
#: Share of the operators' names that programs must have in common to be called alike.
_ALIKE: Final = 0.5
_SHAPES: Final = "SELECT count(*) FROM op_inputs WHERE shapes IS NOT NULL"
_STACKS: Final = "SELECT count(*) FROM op_inputs WHERE stack IS NOT NULL"
_MEMORY: Final = "SELECT count(*) FROM memory"
_DEVICES: Final = "SELECT name, count(*) AS number FROM devices WHERE used GROUP BY 1 ORDER BY 2 DESC, 1"
_DTYPES: Final = """
SELECT dtype FROM kernels WHERE op_class IN ('gemm', 'convolution', 'attention') AND dtype IS NOT NULL
GROUP BY 1 ORDER BY sum(dur) DESC, 1 LIMIT 1
"""


def differences(base: ComparedSide, new: ComparedSide) -> tuple[RecordedDifference, ...]:
    """All that differs, what makes figures doubtful first."""
    if _same(base, new):
        return ()
    found = [one for one in _all(base, new) if one.base != one.new]
    return tuple(sorted(found, key=lambda one: one.tone == "info"))


def _same(base: ComparedSide, new: ComparedSide) -> bool:
    first, second = base.recording, new.recording
    return (first.source, first.part, base.rank) == (second.source, second.part, new.rank)


def _all(base: ComparedSide, new: ComparedSide) -> Iterator[RecordedDifference]:
    def of(what: str, value: Callable[[ComparedSide], str], effect: str, tone: Tone = "warning") -> RecordedDifference:
        return RecordedDifference(what, value(base), value(new), effect, tone)

    yield of("what was run", program_words, "the sides may do different work")
    yield of(
        "what is timed", lambda side: _UNITS[side.unit], "times of steps and of recordings are no measure of each other"
    )
    yield _operators(base, new)
    yield of("batch", _batch, "a step does another amount of work: compare the time per item as well")
    yield of("data type", _dtype, "kernels compute with another precision", "info")
    yield of("devices", device_names, "faster or slower is about program and device together", "info")
    yield of(
        "world size", lambda side: _known(side.recording.world_size), "communication and the share of a rank differ"
    )
    yield of("ranks recorded", lambda side: str(side.ranks), "one rank of each is compared", "info")
    yield of("rank", lambda side: str(side.rank), "ranks may have different work", "info")
    yield of("host", lambda side: _known(side.recording.host), "load and clocks of hosts differ", "info")
    yield of("profiler", lambda side: side.recording.reader, "names and what is recorded differ", "info")
    for what, query in (("input shapes", _SHAPES), ("call stacks", _STACKS), ("memory", _MEMORY)):
        yield of(f"recorded: {what}", lambda side, query=query: _yes(side.trace, query),  # type: ignore[misc]
                 "recording it takes time on the host: idle time and host times of that side are too long")  # fmt: skip
    yield of("recorded: Python calls", lambda side: _python(side.trace),
             "recording them takes time on the host: idle time and host times of that side are too long")  # fmt: skip


def program_words(side: ComparedSide) -> str:
    """What ran, in words."""
    return str(side.trace.once(program_of)) or "unknown"


def device_names(side: ComparedSide) -> str:
    """The devices in use."""
    rows = side.trace.rows(_DEVICES)
    return ", ".join(f"{row['number']} × {row['name'] or 'unnamed device'}" for row in rows) or "none"


def _dtype(side: ComparedSide) -> str:
    return str(next((row["dtype"] for row in side.trace.rows(_DTYPES)), "unknown"))


def _batch(side: ComparedSide) -> str:
    items = items_per_step(side)
    return "unknown" if items is None else f"{items[0]:,.0f} {items[1]} per step"


def items_per_step(side: ComparedSide) -> tuple[float, str] | None:
    """How much a typical step reads, and of what; None where shapes do not tell."""
    try:
        rows = side.trace.once(throughput).records()
    except MissingInputError:
        return None
    return (rows[0]["per_step"], rows[0]["unit"]) if rows and rows[0]["per_step"] else None


def _operators(base: ComparedSide, new: ComparedSide) -> RecordedDifference:
    first, second = (_names(side.trace) for side in (base, new))
    common, all_ = len(first & second), len(first | second)
    effect = f"{common} of {all_} are on both sides: the programs have little in common"
    if not first or not second or common >= _ALIKE * all_:
        return RecordedDifference("operators", "", "", effect)
    return RecordedDifference("operators", f"{len(first)} kinds", f"{len(second)} kinds other", effect)


def _names(trace: Trace) -> set[int | str]:
    rows = trace.rows("SELECT DISTINCT n.name FROM spans s JOIN names n USING (name_id) WHERE s.category = 'op'")
    return {row["name"] for row in rows}


def _yes(trace: Trace, query: str) -> str:
    return "yes" if trace.scalar(query) else "no"


def _python(trace: Trace) -> str:
    return "yes" if trace.once(recorded_events).on_host(("python",)) else "no"


def _known(value: object) -> str:
    return "unknown" if value is None else str(value)
