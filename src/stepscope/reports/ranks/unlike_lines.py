"""What health says where the ranks of a job were not recorded alike."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.cluster.job import JobParts
from stepscope.cluster.unlike import UnlikeSteps, beyond_hand, recorded_by, uneven_calls, unknown_groups, unlike_steps
from stepscope.ingest.inputs import source_of
from stepscope.language import said
from stepscope.model.amounts import listed
from stepscope.reports.health import HealthLine

#: So many sets of steps, or of stated groups, are named.
_NAMED = 3


def unlike_lines(job: JobParts) -> Iterator[HealthLine]:
    """Ranks that are not at hand or of several profilers, other steps, fewer collectives; groups that are not there."""
    if (beyond := beyond_hand(job)) is not None:
        yield _absent(job, *beyond)
    readers = recorded_by(job)
    if len(readers) > 1:
        each = [f"{source_of(name).profiler or name} ({_ranks(ranks)})" for name, ranks in readers.items()]
        yield HealthLine(
            "profilers-differ", "warning",
            said("the ranks were recorded by {readers} profilers: {each}", readers=len(readers), each="; ".join(each)),
            "what they measure differs, so that times of such ranks compare only roughly; collectives match where both "
            "name a group alike; record all ranks with one profiler", len(readers),
        )  # fmt: skip
    if unlike := unlike_steps(job):
        yield _steps(unlike)
    if uneven := uneven_calls(job):
        first = uneven[0]
        more = said(", likewise {uneven} more kinds", uneven=len(uneven) - 1) if len(uneven) > 1 else ""
        ordered = any(one.ordered for one in uneven)
        yield HealthLine(
            "collectives-uneven", "warning",
            said("the ranks recorded different numbers of collectives in the same steps: {lacking:,} of {of:,} "
"{collective} of group {group} lack a rank{more}", lacking=first.lacking, of=first.of,
                 collective=first.collective, group=first.group, more=more),
            "of steps in which the order alone tells which ones belong together, their waiting is left out" if ordered
            else "they match by sequence number, without the ranks that lack them", sum(one.lacking for one in uneven),
        )  # fmt: skip
    if unknown := unknown_groups(job):
        shown = ", ".join(unknown[:_NAMED]) + (
            said(" and {unknown} more", unknown=len(unknown) - _NAMED) if len(unknown) > _NAMED else ""
        )
        yield HealthLine(
            "groups-unknown", "warning", said("the file of --groups states what the job does not have: "
                                              "{shown}", shown=shown),
            "it has no effect; `--table parallel_groups` lists recorded groups and their ranks", len(unknown),
        )  # fmt: skip


def _absent(job: JobParts, least: int, named: tuple[int, ...]) -> HealthLine:
    absent = least - len(job.recordings)
    if absent > 0:
        which = f": {listed(named, 6)}" if len(named) == absent else ""
        return HealthLine(
            "ranks-missing", "info",
            said("the ranks at hand are not all: the job has {least:,} at least, and {absent:,} are not "
"given{which}", least=least, absent=absent, which=which),
            "a rank that is not given may be later than those that are; give the recordings of all ranks",
        )  # fmt: skip
    return HealthLine(
        "ranks-unknown", "info", said("how many ranks the job has is not recorded; ranks {numbers} are at "
                                      "hand", numbers=_numbers(job)),
        "if these are not all ranks, one that is not given may be later; give the recordings of all ranks",
    )  # fmt: skip


def _numbers(job: JobParts) -> str:
    return listed(sorted(job.recordings))


def _steps(unlike: UnlikeSteps) -> HealthLine:
    ranks: dict[tuple[int, ...], list[int]] = {}
    for rank, steps in unlike.others.items():
        ranks.setdefault(steps, []).append(rank)
    each = [f"{_ranks(tuple(who))}: {listed(steps)}" for steps, who in ranks.items()]
    more = said("; {each} more sets", each=len(each) - _NAMED) if len(each) > _NAMED else ""
    return HealthLine(
        "steps-differ", "info" if unlike.common else "warning",
        said("the ranks recorded different steps: {each}{more}; the others: "
             "{usual}", each='; '.join(each[:_NAMED]), more=more, usual=listed(unlike.usual)),
        said("collectives of common steps ({common}) are compared; means per step are of each rank's "
             "own", common=listed(unlike.common))
        if unlike.common else "no step is common to all, so that means per step are of other steps on each rank; "
        "record the same steps on all", len(unlike.others),
    )  # fmt: skip


def _ranks(ranks: tuple[int, ...]) -> str:
    return said("ranks {ranks}", ranks=listed(ranks)) if len(ranks) > 1 else said("rank {number}", number=ranks[0])
