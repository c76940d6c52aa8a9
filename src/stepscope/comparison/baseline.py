"""A side's figures as a file, and a recording held against it: no old recording needs to be kept."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from stepscope.comparison.comparable import RecordedDifference, differences
from stepscope.comparison.metrics import MetricShift, metric_shifts
from stepscope.comparison.noise.ratio import CONFIDENCE
from stepscope.comparison.side import side_of
from stepscope.comparison.summary import SideSummary, summary_of
from stepscope.comparison.verdict import StepTimes, step_times
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace

SCHEMA: Final = "stepscope.baseline/1"
#: Larger files are none: a baseline has a number per step and metric.
_MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """A recording beside a baseline.

    Attributes:
        base: The baseline.
        new: The recording.
        comparable: What differs between the two, and what that makes doubtful.
        step_time: Step times and the verdict.
        metrics: What gates may name.
    """

    base: SideSummary
    new: SideSummary
    comparable: tuple[RecordedDifference, ...]
    step_time: StepTimes
    metrics: tuple[MetricShift, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: as of a comparison, without parts and tables."""
        return {
            "schema": "stepscope.baseline-check/1",
            "base": asdict(self.base.facts),
            "new": asdict(self.new.facts),
            "comparable": [asdict(one) for one in self.comparable],
            "verdict": self.step_time.verdict,
            "step_time": self.step_time.to_json(),
            "metrics": [one.to_json() for one in self.metrics],
        }


def baseline_of(trace: Trace, rank: int) -> SideSummary:
    """The figures of a rank's typical steps.

    Raises:
        UserError: There is nothing in it to be held against.
    """
    summary = summary_of(side_of(trace, rank))
    if not summary.series:
        raise UserError("the recording has neither steps nor allocations", hint="record steps that can be timed")
    return summary


def baseline_text(summary: SideSummary) -> str:
    """The content of a baseline's file."""
    return json.dumps({"schema": SCHEMA, **summary.to_json()}, indent=1, allow_nan=False) + "\n"


def read_baseline(path: Path) -> SideSummary:
    """The baseline in a file.

    Raises:
        UserError: It can't be read, or is none.
    """
    hint = said("write one with `stepscope baseline save`")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UserError(said("{path} is no baseline", path=path), hint=hint)
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            raise UserError(said("{path} is no baseline", path=path), hint=hint)
        return SideSummary.from_json(value)
    except OSError as error:
        raise UserError(said("{path} can't be read ({reason})", path=path, reason=error.strerror), hint=hint) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(said("{path} is no baseline", path=path), hint=hint) from error


def against(base: SideSummary, new: SideSummary, confidence: float = CONFIDENCE) -> BaselineComparison:
    """Compare a recording's figures with a baseline's."""
    timed = step_times(base, new, confidence)
    different = differences(base.recorded, new.recorded, (base.operators, new.operators))
    ratio = timed.interval if timed.unit != "window" else None
    return BaselineComparison(base, new, different, timed, metric_shifts(base, new, ratio, confidence, timed.steps))
