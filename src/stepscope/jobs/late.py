"""What became of the ranks that the others of a job wait for."""

from __future__ import annotations

from typing import Final

from stepscope.jobs.matching import matched_ranks
from stepscope.jobs.side import ComparedJob
from stepscope.model.amounts import duration
from stepscope.signals.communication.late_ranks import LateRank, late_ranks

#: Ranks named, at most, and the growth of a wait from which on it is said.
_NAMED: Final = 3
_GROWN: Final = 0.5


def late_words(base: ComparedJob, new: ComparedJob, per: str = " per step") -> str:
    """Ranks of the new job that others wait for and did not before, or do no longer; empty without any.

    Args:
        base: One job.
        new: The other.
        per: What times are per, in words; empty where they are of whole recordings.
    """
    before, after = (late_ranks({rank: one.times for rank, one in job.ranks.items()}) for job in (base, new))
    said = []
    for _, first, second in matched_ranks(base, new):
        was = before.get(first.rank) if first is not None else None
        late = after.get(second.rank) if second is not None else None
        if late is not None and _apart(was, late):
            since = "for none of its like before" if was is None else f"{duration(was.wait_ns)} before"
            said.append(f"the others wait {duration(late.wait_ns)}{per} for rank {late.rank}, {since}: {_why(late)}")
        elif was is not None and second is not None and _apart(late, was):
            left = "no longer" if late is None else f"only {duration(late.wait_ns)}{per}"
            said.append(f"the others wait {left} for rank {was.rank} ({duration(was.wait_ns)} before: {_why(was)})")
    more = f"; and so of {len(said) - _NAMED} more" if len(said) > _NAMED else ""
    return "; ".join(said[:_NAMED]) + more


def _apart(less: LateRank | None, more: LateRank) -> bool:
    return less is None or more.wait_ns > (1 + _GROWN) * less.wait_ns


def _why(late: LateRank) -> str:
    return f"{late.reason} {duration(max(late.parts[late.reason], 0))} longer than its like"
