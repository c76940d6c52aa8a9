"""The result of a comparison: typed, and as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from stepscope.comparison.causes.cause import Cause
from stepscope.comparison.comparable import RecordedDifference
from stepscope.comparison.findings import FindingChange
from stepscope.comparison.metrics import MetricShift
from stepscope.comparison.parts.amounts import Beside
from stepscope.comparison.summary import SideFacts
from stepscope.comparison.verdict import StepTimes, Verdict
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.showing import Shown
from stepscope.model.suggest import choose
from stepscope.model.table import Table

SCHEMA: Final = "stepscope.comparison/1"


@dataclass(frozen=True, slots=True)
class UncomparedTable:
    """A table that could not be made.

    Attributes:
        table: Its name.
        side: Which side lacks its input: base, new or both.
        message: What is missing.
        hint: What to record next time.
        applies: Whether a recording of that kind could have held it.
    """

    table: str
    side: str
    message: str
    hint: str
    applies: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Shown):
    """Two recordings side by side.

    Attributes:
        base: One side.
        new: The other.
        comparable: What differs between the recordings, and what that makes doubtful.
        step_time: Step times and the verdict.
        metrics: What `--fail-on` may name, with intervals of the differences.
        parts: What a step is made of, per step; the differences add up to that of `step_time`.
        tables: Further splits by name.
        lacking: Tables that could not be made.
        findings: What the rules find on either side, and what became of it.
        causes: Parts of the step that differ, those that do so for sure first, and what in them.
        cause: One sentence: what the difference comes from, as far as that is certain.
    """

    base: SideFacts
    new: SideFacts
    comparable: tuple[RecordedDifference, ...]
    step_time: StepTimes
    metrics: tuple[MetricShift, ...]
    parts: tuple[Beside[str], ...]
    tables: Mapping[str, Table]
    lacking: tuple[UncomparedTable, ...] = ()
    findings: tuple[FindingChange, ...] = ()
    causes: tuple[Cause, ...] = ()
    cause: str = ""

    @property
    def verdict(self) -> Verdict:
        """faster, slower, same or inconclusive: of the new side."""
        return self.step_time.verdict

    @property
    def of_steps(self) -> bool:
        """Whether sums are per step on either side rather than of whole recordings."""
        return not {self.base.unit, self.new.unit} <= {"window", "none"}

    def table(self, name: str) -> Table:
        """One of the tables.

        Raises:
            UserError: There is no such table.
        """
        if name not in self.tables:
            message = said("the comparison has no table called {name!r}", name=name)
            raise UserError(message, hint=choose(name, self.tables))
        return self.tables[name]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, see `docs/compare.md`."""
        return {
            "schema": SCHEMA,
            "base": asdict(self.base),
            "new": asdict(self.new),
            "comparable": [asdict(one) for one in self.comparable],
            "verdict": self.verdict,
            "step_time": self.step_time.to_json(),
            "cause": self.cause,
            "causes": [one.to_json() for one in self.causes],
            "metrics": [one.to_json() for one in self.metrics],
            "parts": [
                {
                    "name": row.key,
                    "base_ns": row.base_ns,
                    "new_ns": row.new_ns,
                    "diff_ns": row.diff_ns,
                    "low_ns": row.interval[0],
                    "high_ns": row.interval[1],
                    "sure": row.sure,
                }
                for row in self.parts
            ],
            "tables": {name: table.to_json() for name, table in self.tables.items()},
            "lacking": [asdict(one) for one in self.lacking],
            "findings": [one.to_json() for one in self.findings],
        }

    def __repr__(self) -> str:
        tables = ", ".join(self.tables)
        return f"<stepscope.Comparison: {self.verdict}, {self.step_time.reason}; tables {tables}>"
