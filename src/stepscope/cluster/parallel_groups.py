"""The groups of parallelism that a job's ranks form: data, tensor, pipeline, expert, context."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.communication.given_groups import GivenGroup, given_for
from stepscope.cluster.job import JobGroup, JobParts
from stepscope.model.schema import Column, TableSchema, count, flag, size, text
from stepscope.model.table import Table
from stepscope.signals.communication.parallelism import parallelism_named

PARALLEL_GROUPS: Final = TableSchema(
    "parallel_groups",
    "The process groups of the job that a rank at hand called or described, with what they are for.",
    (
        text("group", "Process group, as recorded."),
        text("parallelism", "data, tensor, pipeline, expert, context, model (tensor and pipeline), embedding or world; "
             "null where neither names nor traffic tell.", nullable=True),
        text("told_by", "file: --groups; name: its name or description as recorded; traffic: what is called in it; "
             "null for none of these.", nullable=True),
        text("description", "What it is for, as recorded; empty if not."),
        Column("size", "int32", "Number of its ranks; null if not recorded.", "count", True),
        Column("ranks", "int32[]", "Its ranks; those at hand that called it where the others are not recorded."),
        count("at_hand", "How many of its ranks are at hand."),
        Column("hosts", "int32", "Hosts of the ranks at hand; null if one of them is not recorded.", "count", True),
        flag("across_hosts", "Whether its ranks are on several hosts; null if that is not known.", nullable=True),
        Column("kinds", "string[]", "Kinds of collectives called in it."),
        count("calls", "Calls of collectives, on all ranks at hand."),
        size("bytes", "Sum of their sizes, where recorded."),
    ),
)  # fmt: skip

_P2P: Final = {"send", "recv", "send_recv"}


def parallel_groups(job: JobParts) -> Table:
    """The groups, those with most calls first."""
    rows = [_row(group, job) for group in job.groups.values()]
    rows += [
        _unrecorded(one, job) for one in job.given if one.ranks and not any(one.is_that(row[0], row[5]) for row in rows)
    ]
    # The group of all ranks averages gradients only if no other one is there for that.
    if any(row[1:3] == ("data", "name") for row in rows):
        rows = [(row[0], "world", "traffic", *row[3:]) if row[1:3] == ("data", "traffic") else row for row in rows]
    rows.sort(key=lambda row: (-int(str(row[10])), str(row[0]), str(row[5])))
    return Table.from_rows(PARALLEL_GROUPS, rows)


def _row(group: JobGroup, job: JobParts) -> tuple[object, ...]:
    size, members = group.size or None, group.members
    here = sum(rank in job.recordings for rank in members)
    number = job.hosts(members)
    world = max((recording.world_size or 0 for recording in job.recordings.values()), default=0)
    words = f"{group.description} {group.name}"
    parallelism, by = _parallelism(words, group.kinds, size, world or len(job.recordings))
    stated = given_for(job.given, group.name, members)
    if stated is not None:
        parallelism, by = stated.parallelism, "file"
    whole = here == (size or len(members))
    across = number > 1 if number is not None and (number > 1 or whole) else None
    return (
        group.name, parallelism, by, group.description, size, list(members), here, number, across, sorted(group.kinds),
        group.calls, group.bytes,
    )  # fmt: skip


def _unrecorded(given: GivenGroup, job: JobParts) -> tuple[object, ...]:
    """A group that the user states and no recording has."""
    here, number = sum(rank in job.recordings for rank in given.ranks), job.hosts(given.ranks)
    across = number > 1 if number is not None and (number > 1 or here == len(given.ranks)) else None
    name = given.group or "not recorded"
    return (name, given.parallelism, "file", "", len(given.ranks), list(given.ranks), here, number, across, [], 0, 0)


def _parallelism(words: str, kinds: set[str], size: int | None, world: int) -> tuple[str | None, str | None]:
    named = parallelism_named(words)
    # The default group of a job is that of its only parallelism, if its ranks average gradients in it.
    if named and not (named == "world" and kinds & {"all_reduce", "reduce_scatter"} and size == world):
        return named, "name"
    if kinds and kinds <= _P2P:
        return "pipeline", "traffic"
    if kinds & {"all_to_all", "all_to_allv"}:
        return "expert", "traffic"
    if size == world and kinds & {"all_reduce", "reduce_scatter"}:
        return "data", "traffic"
    return None, None
