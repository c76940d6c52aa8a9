"""What a comparison needs of a side beyond its trace: small enough to be kept as a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from stepscope.comparison.comparable import (
    device_names,
    items_per_step,
    operators_of,
    program_words,
    recorded_facts,
)
from stepscope.comparison.series import series_of
from stepscope.comparison.side import ComparedSide, Unit
from stepscope.comparison.steps.recorded import RecordedStep, recorded_steps

_CALLS_SQL: Final = "SELECT name, count(*) AS number FROM kernels WHERE kind = 'compute' GROUP BY 1"


@dataclass(frozen=True, slots=True)
class SideFacts:
    """What a side is.

    Attributes:
        source: Path of the recording.
        reader: Reader of the recording.
        rank: Rank that is compared.
        ranks: Ranks that the input has.
        steps: Numbers of the steps that are compared.
        unit: What is timed: step, host step, window (no steps are known) or none.
        devices: Devices that a step's time is a mean over.
        device: Names of the devices in use.
        program: What ran, in words.
    """

    source: str
    reader: str
    rank: int
    ranks: int
    steps: tuple[int, ...]
    unit: Unit
    devices: int
    device: str
    program: str


@dataclass(frozen=True, slots=True)
class SideSummary:
    """The figures of a side.

    Attributes:
        facts: What it is.
        recorded: What recordings are held against each other by, in words.
        operators: Names of the operators called.
        series: Values of each metric by step, or one value where it has no steps.
        calls: Without steps, how often each kernel ran, by which such recordings are compared; else empty.
        steps: All recorded steps, those that are left out with the reason.
        items: What a step reads, and in which unit; None where that is not known.
    """

    facts: SideFacts
    recorded: Mapping[str, str]
    operators: frozenset[str]
    series: Mapping[str, tuple[int, ...]]
    calls: Mapping[str, int]
    steps: tuple[RecordedStep, ...] = ()
    items: tuple[float, str] | None = None

    @property
    def unit(self) -> Unit:
        """What its lengths are of, see `ComparedSide`."""
        return self.facts.unit

    @property
    def lengths(self) -> tuple[int, ...]:
        """Ns of each step."""
        return self.series.get("step_time", ())

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {**asdict(self), "operators": sorted(self.operators)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SideSummary:
        """The inverse of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: The values are no summary.
        """
        facts = SideFacts(**{**value["facts"], "steps": tuple(value["facts"]["steps"])})
        series = {str(name): tuple(int(one) for one in values) for name, values in dict(value["series"]).items()}
        recorded = {str(what): str(words) for what, words in dict(value["recorded"]).items()}
        calls = {str(name): int(number) for name, number in dict(value["calls"]).items()}
        if facts.unit not in ("step", "host step", "window", "none"):
            raise ValueError(f"no unit is called {facts.unit!r}")
        steps = tuple(RecordedStep(**one) for one in value.get("steps", ()))
        items = value.get("items")
        return cls(facts, recorded, frozenset(map(str, value["operators"])), series, calls, steps,
                   None if items is None else (float(items[0]), str(items[1])))  # fmt: skip


def summary_of(side: ComparedSide) -> SideSummary:
    """The figures of a side."""
    recording = side.recording
    facts = SideFacts(
        recording.source, recording.reader, side.rank, side.ranks, side.steps, side.unit, side.devices,
        device_names(side), program_words(side),
    )  # fmt: skip
    calls = {row["name"]: row["number"] for row in side.trace.rows(_CALLS_SQL)} if side.unit == "window" else {}
    return SideSummary(
        facts,
        recorded_facts(side),
        operators_of(side),
        series_of(side),
        calls,
        recorded_steps(side),
        items_per_step(side),
    )
