"""From outcomes to figures: accuracy, false findings, error of the price, and who was taken for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.diagnosis.answers import ANSWERS
from bench.diagnosis.case import Found, Outcome


@dataclass(frozen=True, slots=True)
class Score:
    """Figures of one family.

    Attributes:
        single: Cases with one fault that is to be named.
        top1: Share of them whose first finding names the fault.
        top3: Share in which one of the first three does.
        pairs: Cases with two faults.
        pairs_both: Share of them in which both are among the first three findings.
        pairs_first: Share of them whose first finding names one of the two.
        healthy: Jobs without a fault that is to be named.
        false: Findings with a cost per healthy job.
        errors: Error of each price that can be held against a re-simulated job, both as shares of the step, over the
            true one.
        confusion: (fault, code of the first finding or `-`) to number of cases.
    """

    single: int
    top1: float
    top3: float
    pairs: int
    pairs_both: float
    pairs_first: float
    healthy: int
    false: float
    errors: tuple[float, ...]
    confusion: dict[tuple[str, str], int]

    @property
    def median_error(self) -> float:
        """Median error of the price."""
        return median(self.errors) if self.errors else 0.0


def names(fault: str, finding: Found) -> bool:
    """Whether a finding names a fault."""
    return finding.code in ANSWERS[fault]


def score(outcomes: Sequence[Outcome]) -> Score:
    """The figures of some outcomes."""
    single = [o for o in outcomes if len(o.faults) == 1 and ANSWERS[o.faults[0]]]
    pairs = [o for o in outcomes if len(o.faults) == 2]
    healthy = [o for o in outcomes if not any(ANSWERS[fault] for fault in o.faults)]
    top1 = sum(any(names(o.faults[0], f) for f in o.findings[:1]) for o in single)
    top3 = sum(any(names(o.faults[0], f) for f in o.findings[:3]) for o in single)
    both = sum(all(any(names(fault, f) for f in o.findings[:3]) for fault in o.faults) for o in pairs)
    first = sum(any(names(fault, f) for fault in o.faults for f in o.findings[:1]) for o in pairs)
    false = sum(f.cost_ns is not None for o in healthy for f in o.findings)
    return Score(
        len(single), top1 / max(1, len(single)), top3 / max(1, len(single)),
        len(pairs), both / max(1, len(pairs)), first / max(1, len(pairs)),
        len(healthy), false / max(1, len(healthy)),
        tuple(error for o in single if (error := price_error(o)) is not None),
        dict(Counter((o.faults[0], o.findings[0].code if o.findings else "-") for o in single)),
    )  # fmt: skip


def price_error(outcome: Outcome) -> float | None:
    """Error of the price of the first finding that names the fault, both as shares of their step, over the true one."""
    true = outcome.costs[0] / max(outcome.step_ns, 1)
    found = next((f for f in outcome.findings if names(outcome.faults[0], f)), None)
    if found is None or found.cost_ns is None or true <= 0 or not outcome.told_ns:
        return None
    return abs(found.cost_ns / outcome.told_ns - true) / true
