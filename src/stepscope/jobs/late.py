"""What became of the ranks that the others of a job wait for."""

from __future__ import annotations

from typing import Final

from stepscope.jobs.matching import matched_ranks
from stepscope.jobs.side import ComparedJob
from stepscope.language import listing, said
from stepscope.model.amounts import duration
from stepscope.signals.communication.late_rank import LateRank
from stepscope.signals.communication.late_ranks import late_ranks

#: Ranks named, at most, and the growth of a wait from which on it is said.
_NAMED: Final = 3
#: What a late rank mostly takes longer for.
_REASONS: Final = {
    "compute": said("compute"), "host": said("host"), "copies": said("copies"), "link": said("link"),
    "start": said("start"),
}  # fmt: skip
_GROWN: Final = 0.5


def late_words(base: ComparedJob, new: ComparedJob, *, per_step: bool = True) -> str:
    """Ranks of the new job that others wait for and did not before, or do no longer; empty without any.

    Args:
        base: One job.
        new: The other.
        per_step: Whether times are per step rather than of whole recordings.
    """
    before, after = (late_ranks({rank: one.times for rank, one in job.ranks.items()}) for job in (base, new))
    found: list[str] = []
    for _, first, second in matched_ranks(base, new):
        was = before.get(first.rank) if first is not None else None
        late = after.get(second.rank) if second is not None else None
        if late is not None and _apart(was, late):
            since = said("for none of its like before")
            if was is not None:
                since = said("{wait} before", wait=duration(was.wait_ns))
            wait = _per(late.wait_ns, per_step)
            found.append(
                said("the others wait {wait} for rank {rank}, {since}: {why}", wait=wait, rank=late.rank, since=since,
                     why=_why(late))
            )  # fmt: skip
        elif was is not None and second is not None and _apart(late, was):
            values = {"rank": was.rank, "before": duration(was.wait_ns), "why": _why(was)}
            if late is None:
                found.append(said("the others wait no longer for rank {rank} ({before} before: {why})", **values))
            else:
                wait = _per(late.wait_ns, per_step)
                found.append(
                    said("the others wait only {wait} for rank {rank} ({before} before: {why})", wait=wait, **values)
                )
    more = said("and so of {count} more", count=len(found) - _NAMED)
    return listing((*found[:_NAMED], more) if len(found) > _NAMED else found, "; ")


def _per(wait_ns: float, per_step: bool) -> str:
    return said("{time} per step", time=duration(wait_ns)) if per_step else duration(wait_ns)


def _apart(less: LateRank | None, more: LateRank) -> bool:
    return less is None or more.wait_ns > (1 + _GROWN) * less.wait_ns


def _why(late: LateRank) -> str:
    time = duration(max(late.parts[late.reason], 0))
    return said("{reason} {time} longer than its like", reason=_REASONS.get(late.reason, late.reason), time=time)
