"""Whether two sides can be compared: what differs between the recordings, and what that makes doubtful."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from stepscope.analyses.program import program_of
from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.analyses.steps.throughput import throughput
from stepscope.comparison.model_shape import UNKNOWN, model_shape
from stepscope.comparison.side import ComparedSide, tells_calls
from stepscope.language import listing, pattern, recalled, said
from stepscope.model.amounts import plural
from stepscope.model.errors import MissingInputError
from stepscope.model.recording import TELLS_ROUNDING

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


#: What recordings are held against each other by, in the order of pages: what a difference makes doubtful, and how.
_EFFECTS: Final[Mapping[str, tuple[str, Tone]]] = {
    said("health"): (said("a damaged recording lacks events: its sums are lower bounds"), "warning"),
    said("what was run"): (said("the sides may do different work"), "warning"),
    said("timed"): (said("times of steps and of whole recordings do not compare"), "warning"),
    said("batch"): (said("a step does another amount of work: compare the time per item as well"), "warning"),
    said("model shape"): (said("layers are of another size or number, and do another amount of work"), "warning"),
    said("world size"): (said("communication and a rank's share differ"), "warning"),
    said("recorded: input shapes"): ("", "warning"),
    said("recorded: call stacks"): ("", "warning"),
    said("recorded: memory"): ("", "warning"),
    said("recorded: Python calls"): ("", "warning"),
    said("recorded: calls of the runtime"): (
        said("idle time is put down to them: its causes do not compare"),
        "warning",
    ),
    said("steps"): (said("the side with fewer tells less about its noise"), "info"),
    said("data type"): (said("kernels compute with another precision"), "info"),
    said("devices"): (said("faster or slower is about program and device together"), "info"),
    said("ranks recorded"): (said("the tables of one rank of each are compared; section Ranks has all"), "info"),
    said("rank"): (said("ranks may have different work"), "info"),
    said("versions"): (said("libraries may run other kernels, and their calls take another time"), "info"),
    said("host"): (said("load and clocks of hosts differ"), "info"),
    said("profiler"): (said("names and what is recorded differ"), "info"),
}
#: What of a recording tells whether a model is trained or run; it stands in no page by itself.
WORK: Final = "kind of work"
TRAINS: Final = "training"
RUNS: Final = "running"
#: What of a recording tells whether idle time can be put down to calls of the runtime.
CALLS: Final = "recorded: calls of the runtime"
#: What a device is called whose name is not recorded.
UNNAMED: Final = said("unnamed device")
_RECORDING: Final = said("recording it takes time on the host: idle and host times of that side are too long")
#: What recordings may hold beyond each other, and its name by itself.
RECORDED: Final = {
    "recorded: input shapes": said("input shapes"), "recorded: call stacks": said("call stacks"),
    "recorded: memory": said("memory"), "recorded: Python calls": said("Python calls"),
}  # fmt: skip
_UNITS: Final = {
    "step": said("steps"), "host step": said("steps, of the host alone"),
    "window": said("no steps: the whole recording"), "none": said("no steps and no device activity"),
}  # fmt: skip
#: What is not said where one side does not tell it: what `timed` and `recorded` say is enough.
_ONLY_KNOWN: Final = ("model shape", "steps", "versions", CALLS)
#: Versions that recordings may hold, and their names.
_VERSIONS: Final = {
    "cuda_runtime_version": "CUDA runtime", "cuda_driver_version": "CUDA driver", "hip_runtime_version": "HIP runtime",
    "hip_driver_version": "HIP driver", "driver_version": "driver", "torch_npu_version": "torch_npu",
    "cann_version": "CANN",
}  # fmt: skip
#: What steps read.
_ITEMS: Final = {
    "images": pattern("{number:,.0f} images"), "tokens": pattern("{number:,.0f} tokens"),
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
_MAY_BE_ROUNDED: Final = said("fp32, rounding unknown")
_OPERATORS: Final = (
    "SELECT DISTINCT n.name FROM spans s JOIN names n USING (name_id) WHERE s.category = 'op' ORDER BY 1"
)
_ERRORS: Final = "SELECT DISTINCT message FROM health WHERE severity = 'error' ORDER BY 1"
_HEALTHY: Final = said("no error")


def recorded_facts(side: ComparedSide) -> dict[str, str]:
    """What a recording is, in words, by what the pages call it."""
    trace = side.trace
    return {
        "health": listing((recalled(row["message"]) for row in trace.rows(_ERRORS)), "; ") or _HEALTHY,
        "what was run": program_words(side) or UNKNOWN,
        WORK: TRAINS if (program := trace.once(program_of)).trains else RUNS if program.infers else UNKNOWN,
        "timed": _UNITS[side.unit],
        "batch": _batch(side),
        "model shape": _model_shape(side),
        "steps": str(len(side.steps)) if side.unit in ("step", "host step") else UNKNOWN,
        "world size": _known(side.recording.world_size),
        "recorded: input shapes": _yes(trace.scalar(_SHAPES)),
        "recorded: call stacks": _yes(trace.scalar(_STACKS)),
        "recorded: memory": _yes(trace.scalar(_MEMORY)),
        "recorded: Python calls": _yes(trace.once(recorded_events).on_host(("python",))),
        CALLS: UNKNOWN if (calls := tells_calls(side)) is None else _yes(calls),
        "data type": _data_type(side),
        "devices": device_names(side) or said("none"),
        "ranks recorded": str(side.ranks),
        "rank": str(side.rank),
        "versions": _versions(side.recording.attributes),
        "host": _known(side.recording.host),
        "profiler": side.recording.reader,
    }


def operators_of(side: ComparedSide) -> frozenset[str]:
    """Names of the operators that a side calls."""
    return frozenset(row["name"] for row in side.trace.rows(_OPERATORS))


def differences(
    base: Mapping[str, str],
    new: Mapping[str, str],
    operators: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset()),
) -> tuple[RecordedDifference, ...]:
    """All that differs between two sides' `recorded_facts`, and damage of both, what makes figures doubtful first."""
    found = [
        _difference(what, base[what], new[what])
        for what in _EFFECTS
        if what in base and what in new and (base[what] != new[what] or (what == "health" and base[what] != _HEALTHY))
    ]
    found = [one for one in found if one.what not in _ONLY_KNOWN or UNKNOWN not in (one.base, one.new)]
    common, either = len(operators[0] & operators[1]), len(operators[0] | operators[1])
    if all(operators) and common < _ALIKE * either:
        first, second = (plural(len(one), "kind") for one in operators)
        effect = said(
            "only {common} of {either} are on both sides: the programs have little in common",
            common=common, either=either,
        )  # fmt: skip
        found.append(RecordedDifference(said("operators"), first, second, effect))
    return tuple(sorted(found, key=lambda one: one.tone == "info"))


def _difference(what: str, base: str, new: str) -> RecordedDifference:
    effect, tone = _EFFECTS[what]
    untold = UNKNOWN in (base, new) or (what == "devices" and any(UNNAMED in words for words in (base, new)))
    if untold or {base, new} in ({_MAY_BE_ROUNDED, "fp32"}, {_MAY_BE_ROUNDED, "tf32"}):
        return RecordedDifference(what, base, new, said("one side does not tell it, so that it may differ"), "info")
    return RecordedDifference(what, base, new, effect or _RECORDING, tone)


def same_recording(base: ComparedSide, new: ComparedSide) -> bool:
    """Whether both sides are of one rank's recording."""
    first, second = base.recording, new.recording
    return (first.source, first.part, base.rank) == (second.source, second.part, new.rank)


def program_words(side: ComparedSide) -> str:
    """What ran, in words; empty if that is not known."""
    return str(side.trace.once(program_of))


def device_names(side: ComparedSide) -> str:
    """The devices in use; empty if none is known."""
    rows = side.trace.rows(_DEVICES)
    return listing(said("{number} × {name}", number=row["number"], name=row["name"] or UNNAMED) for row in rows)


def items_per_step(side: ComparedSide) -> tuple[float, str] | None:
    """How much a typical step reads, and of what; None where shapes do not tell."""
    try:
        rows = side.trace.once(throughput).records()
    except MissingInputError:
        return None
    return (rows[0]["per_step"], rows[0]["unit"]) if rows and rows[0]["per_step"] else None


def items_words(number: float, unit: str) -> str:
    """So many images, tokens and the like."""
    patterns = _ITEMS.get(unit)
    return said(patterns, number=number) if patterns else f"{number:,.0f} {unit}"


def _batch(side: ComparedSide) -> str:
    items = items_per_step(side)
    return UNKNOWN if items is None else said("{number} per step", number=items_words(items[0], items[1]))


def _data_type(side: ComparedSide) -> str:
    """What most matrix work computes with."""
    found = next((row["dtype"] for row in side.trace.rows(_DTYPES)), UNKNOWN)
    if found == "fp32" and side.recording.attributes.get(TELLS_ROUNDING) is False:
        return _MAY_BE_ROUNDED
    return str(found)


def _model_shape(side: ComparedSide) -> str:
    """Compiled code calls no operators on its weights."""
    program = side.trace.once(program_of)
    if program.compiled or program.graphs or side.unit not in ("step", "host step"):
        return UNKNOWN
    return model_shape(side.trace, side.steps)


def _versions(attributes: Mapping[str, Any]) -> str:
    known = [(name, value) for key, name in _VERSIONS.items() if (value := attributes.get(key))]
    return ", ".join(f"{name} {_version(value)}" for name, value in known) or UNKNOWN


def _version(value: Any) -> str:
    """CUDA's 12040 is 12.4."""
    if isinstance(value, int) and 9_000 <= value < 100_000:
        return f"{value // 1000}.{value % 1000 // 10}"
    return str(value)


def _yes(number: Any) -> str:
    return said("yes") if number else said("no")


def _known(value: object) -> str:
    return UNKNOWN if value is None else str(value)
