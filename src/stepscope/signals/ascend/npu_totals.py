"""Totals of operators and calls from an Ascend profiler, for recordings without single events."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from stepscope.language import said
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend.ascend import need_ascend
from stepscope.signals.signal import Signals, signal

#: `acl aclnnAdd` and `runtime KernelLaunch`: a layer, which calls the one below, and the call.
_CALL: Final = re.compile(r"(\S+) (.+)")

_RECEIVED_SQL: Final = """
SELECT sum(value) FILTER (WHERE metric = 'Bubble')
    / nullif(sum(value) FILTER (WHERE metric = 'Communication(Not Overlapped)'), 0)
FROM recorded WHERE source = 'steps'
"""


@dataclass(frozen=True, slots=True)
class Total:
    """Sum over all operators of a type and core, or all calls of a layer and name.

    Attributes:
        name: The operator's type, or the call's name.
        kind: The core that it ran on, or its layer.
        count: How many there are, 0 if not told.
        ns: Sum of their durations.
        longest_ns: The longest one, 0 if not told.
    """

    name: str
    kind: str
    count: int
    ns: int
    longest_ns: int


@signal()
def operators(s: Signals) -> tuple[Total, ...]:
    """Operators by type and core, the longest first."""
    return tuple(
        Total(name.rpartition(" ")[0] or name, name.rpartition(" ")[2], count, ns, longest)
        for name, count, ns, longest in _of(s, "operators")
    )


@signal()
def calls(s: Signals) -> tuple[Total, ...]:
    """Calls by layer and name, the longest first."""
    return tuple(
        Total(match[2], match[1], count, ns, longest)
        for name, count, ns, longest in _of(s, "calls")
        if (match := _CALL.fullmatch(name))
    )


@signal("share")
def received_share(s: Signals) -> float:
    """Receives from other stages of a pipeline as a share of exposed communication, by the profiler's sums of steps."""
    need_ascend(s)
    share = s.trace.scalar(_RECEIVED_SQL)
    if share is None:
        raise MissingInputError("the recording has no sums of steps", hint="keep step_trace_time.csv")
    return min(float(share), 1.0)


def added(totals: tuple[Total, ...]) -> tuple[int, int, int]:
    """Count, time and longest duration of several totals together."""
    return sum(t.count for t in totals), sum(t.ns for t in totals), max((t.longest_ns for t in totals), default=0)


def of_interface(totals: tuple[Total, ...], pattern: re.Pattern[str]) -> tuple[Total, ...]:
    """Calls of the interface with these names; what they call in turn would count twice."""
    return tuple(one for one in totals if one.kind == "acl" and pattern.match(one.name))


def _of(s: Signals, what: str) -> list[tuple[str, int, int, int]]:
    need_ascend(s)
    rows = [row for row in s.table("recorded_totals").records() if row["of"] == what]
    if not rows:
        raise MissingInputError(
            said("the recording has no totals of {what}, or has them themselves", what=what),
            hint="keep op_statistic.csv and api_statistic.csv",
        )
    return [(row["name"], row["count"] or 0, row["total_ns"], row["max_ns"] or 0) for row in rows]
