"""One job of a comparison: where the steps of each rank go, and what its process groups cost."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from stepscope.cluster.job import JobGroup, JobParts
from stepscope.cluster.parallel_groups import parallel_groups
from stepscope.cluster.part import groups_of, times_of
from stepscope.cluster.step_part import steps_of
from stepscope.language import said
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace
from stepscope.signals.communication.rank_times import RankTimes


@dataclass(frozen=True, slots=True)
class JobRank:
    """A rank.

    Attributes:
        rank: Its number.
        host: Its host; None if not recorded.
        times: Where its mean typical step goes.
        own: ns of each typical step without what the rank waits for others in it; where nothing tells waiting, without
            exposed communication.
    """

    rank: int
    host: str | None
    times: RankTimes
    own: tuple[int, ...]

    @property
    def own_ns(self) -> int:
        """Mean of `own`."""
        return sum(self.own) // max(1, len(self.own))


@dataclass(slots=True)
class ComparedJob:
    """A job.

    Attributes:
        ranks: Its ranks that have typical steps, by number.
        untimed: Those that have none.
        groups: Process groups by what they are for: how many there are, and exposed time per step of each rank in them.
    """

    ranks: dict[int, JobRank] = field(default_factory=dict)
    untimed: list[int] = field(default_factory=list)
    groups: dict[str, tuple[int, dict[int, int]]] = field(default_factory=dict)

    @property
    def stages(self) -> dict[int, list[JobRank]]:
        """Ranks by stage of a pipeline; empty where there are not at least two stages."""
        found: defaultdict[int, list[JobRank]] = defaultdict(list)
        for one in self.ranks.values():
            if one.times.place is not None:
                found[one.times.place].append(one)
        return dict(sorted(found.items())) if len(found) > 1 else {}


def compared_job(trace: Trace) -> ComparedJob:
    """What is compared of a job; one rank is open at a time."""
    found, parts = ComparedJob(), JobParts()
    exposed: dict[int, dict[str, int]] = {}
    for rank in trace.ranks:
        one = trace.rank(rank)
        parts.recordings[rank] = trace.recordings[rank]
        for group in groups_of(one):
            parts.groups.setdefault((group.name, group.ranks), JobGroup(group.name, group.ranks)).add(rank, group)
        try:
            times = times_of(one)
        except MissingInputError:
            times = None
        if times is None:
            found.untimed.append(rank)
            continue
        found.ranks[rank] = JobRank(rank, trace.recordings[rank].host, times, _own(one, times))
        exposed[rank] = _exposed(one, times.steps)
    found.groups = _by_purpose(parts, exposed)
    return found


def _own(trace: Trace, times: RankTimes) -> tuple[int, ...]:
    steps = Steps.of(trace)
    lengths = steps.length[steps.typical].tolist()
    waits = [ns for _, ns in times.waits]
    if times.waited_ns is None or len(waits) != len(lengths):
        less = times.exposed_comm_ns if times.waited_ns is None else times.waited_ns
        waits = [less] * len(lengths)
    return tuple(max(0, length - wait) for length, wait in zip(lengths, waits, strict=True))


def _exposed(trace: Trace, steps: int) -> dict[str, int]:
    """Exposed time of a rank per step, by process group."""
    try:
        found = steps_of(trace)
    except MissingInputError:
        return {}
    sums: defaultdict[str, int] = defaultdict(int)
    for (_, group), times in found.groups.items() if found is not None else ():
        sums[group] += times.exposed_ns
    return {group: ns // max(1, steps) for group, ns in sums.items()}


def _by_purpose(parts: JobParts, exposed: dict[int, dict[str, int]]) -> dict[str, tuple[int, dict[int, int]]]:
    found: dict[str, tuple[int, dict[int, int]]] = {}
    for row in parallel_groups(parts).records():
        if not row["calls"]:
            continue
        purpose = row["parallelism"] or said("{size} ranks, unknown", size=row["size"] or len(row["ranks"]))
        number, times = found.get(purpose, (0, {}))
        for rank in row["ranks"]:
            if row["group"] in exposed.get(rank, {}):
                times[rank] = times.get(rank, 0) + exposed[rank].pop(row["group"])
        found[purpose] = (number + 1, times)
    return found
