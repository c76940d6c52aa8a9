"""Findings of both sides held against each other: what is new, gone, grown or shrunk, with its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from stepscope.comparison.side import ComparedSide
from stepscope.comparison.verdict import MARGIN
from stepscope.model.schema import Column, TableSchema, ns, text
from stepscope.model.table import Table

if TYPE_CHECKING:
    from stepscope.rules.finding import Finding

Change = Literal["new", "gone", "grown", "shrunk", "same", "unknown"]
FINDINGS: Final = TableSchema(
    "findings",
    "What the rules find in either recording, by rule, the largest change first. Prices are what the typical step "
    "would save, of the findings of one rule together; a rule that finds advice only has none.",
    (
        text("change", "new, gone, grown, shrunk (the price by more than 1 % of the step), same, or unknown: the rule "
             "could not judge the other side."),
        text("code", "The rule; `stepscope rules CODE` says how it decides."),
        text("title", "What is wrong: on the new side, else on the base."),
        Column("base_cost_ns", "int64", "Price on the base; null where it has none.", "ns", True),
        Column("new_cost_ns", "int64", "Price on the new side; null where it has none.", "ns", True),
        ns("diff_ns", "Price on the new side minus that on the base; 0 where the change is unknown.", signed=True),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A rule's findings of both sides.

    Attributes:
        change: What became of them.
        code: The rule.
        title: What is wrong.
        base_cost_ns: Price on the base; None without one.
        new_cost_ns: Price on the new side; None without one.
    """

    change: Change
    code: str
    title: str
    base_cost_ns: int | None
    new_cost_ns: int | None

    @property
    def diff_ns(self) -> int:
        """New minus base; 0 where the other side could not be judged."""
        if self.change == "unknown":
            return 0
        return (self.new_cost_ns or 0) - (self.base_cost_ns or 0)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "change": self.change, "code": self.code, "title": self.title, "base_cost_ns": self.base_cost_ns,
            "new_cost_ns": self.new_cost_ns, "diff_ns": self.diff_ns,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class SideFindings:
    """What the rules say of a side.

    Attributes:
        findings: What they found.
        unjudged: Codes of rules that lacked their input, or are not about such a program.
    """

    findings: tuple[Finding, ...] = ()
    unjudged: frozenset[str] = frozenset()


def findings_of(side: ComparedSide) -> SideFindings:
    """What the rules find in the rank of a side, in its typical steps."""
    # A third of what a comparison without findings would import.
    from stepscope.rules.engine import Diagnosing
    from stepscope.rules.settings import Settings

    diagnosing = Diagnosing(Settings())
    diagnosing.look_at(side.trace)
    diagnosis = diagnosing.finish()
    return SideFindings(diagnosis.findings, frozenset(one.code for one in diagnosis.unasked))


def changes(base: SideFindings, new: SideFindings, step_ns: int) -> tuple[FindingChange, ...]:
    """The findings of each rule on both sides, the largest change first.

    Args:
        base: Findings of the base.
        new: Findings of the new side.
        step_ns: Mean step of the base.
    """
    unjudged = base.unjudged | new.unjudged
    found = []
    for code in dict.fromkeys(one.code for one in (*base.findings, *new.findings)):
        mine = [[one for one in side.findings if one.code == code] for side in (base, new)]
        costs = [_cost(side) for side in mine]
        title = (mine[1] or mine[0])[0].title
        apart = (costs[1] or 0) - (costs[0] or 0)
        change: Change = (
            "unknown" if code in unjudged and not all(mine)
            else "new" if not mine[0] else "gone" if not mine[1] else "same" if abs(apart) <= MARGIN * step_ns
            else "grown" if apart > 0 else "shrunk"
        )  # fmt: skip
        found.append(FindingChange(change, code, title, costs[0], costs[1]))
    return tuple(sorted(found, key=_order))


def _order(one: FindingChange) -> tuple[bool, bool, int, str]:
    return one.change == "same", one.change == "unknown", -abs(one.diff_ns), one.code


def findings_table(found: Sequence[FindingChange]) -> Table:
    """The table of them."""
    rows = [(one.change, one.code, one.title, one.base_cost_ns, one.new_cost_ns, one.diff_ns) for one in found]
    return Table.from_rows(FINDINGS, rows)


def _cost(findings: Sequence[Finding]) -> int | None:
    costs = [one.cost_ns for one in findings if one.cost_ns is not None]
    return sum(costs) if costs else None
