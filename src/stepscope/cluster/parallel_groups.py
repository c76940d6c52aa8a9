"""The groups of parallelism that a job's ranks form: data, tensor, pipeline, expert, context."""

from __future__ import annotations

import re
from typing import Final

from stepscope.cluster.job import JobParts
from stepscope.cluster.part import GroupPart
from stepscope.model.schema import Column, TableSchema, count, flag, size, text
from stepscope.model.table import Table

PARALLEL_GROUPS: Final = TableSchema(
    "parallel_groups",
    "The process groups of the job that a rank at hand called or described, with what they are for.",
    (
        text("group", "Process group, as recorded."),
        text("parallelism", "data, tensor, pipeline, expert, context, model (tensor and pipeline), embedding or world; "
             "null where neither names nor traffic tell.", nullable=True),
        text("told_by", "name: its name or description as recorded; traffic: what is called in it; null for neither.",
             nullable=True),
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

#: What frameworks call their groups; the first that fits counts. Megatron joins names: `dp_cp` is data parallelism.
_WORDS: Final = (
    ("expert", r"exp|ep|expert|moe|etp|edp"),
    ("data", r"dp|data|replica|fsdp|zero|ddp"),
    ("tensor", r"tp|tensor|mp_tp|row|col"),
    ("pipeline", r"pp|pipe|pipeline|stages?"),
    ("context", r"cp|context|ring|ulysses|sequence|sp"),
    ("model", r"mp|model"),
    ("embedding", r"embd|embedding"),
    ("world", r"default|world|global"),
)
_PATTERNS: Final = tuple(
    (kind, re.compile(rf"(?:^|[^a-z])(?:{words})(?:[^a-z]|$)", re.IGNORECASE)) for kind, words in _WORDS
)
_P2P: Final = {"send", "recv", "send_recv"}


def parallel_groups(job: JobParts) -> Table:
    """The groups, those with most calls first."""
    found: dict[tuple[str, tuple[int, ...]], list[tuple[int, GroupPart]]] = {}
    for rank, groups in job.groups.items():
        for group in groups:
            # NCCL's names are numbers that each rank counts for itself; ranks tell such groups apart.
            found.setdefault((group.name, group.ranks), []).append((rank, group))
    rows = [_row(name, ranks, parts, job) for (name, ranks), parts in found.items()]
    # The group of all ranks averages gradients only if no other one is there for that.
    if any(row[1:3] == ("data", "name") for row in rows):
        rows = [(row[0], "world", "traffic", *row[3:]) if row[1:3] == ("data", "traffic") else row for row in rows]
    rows.sort(key=lambda row: (-int(str(row[10])), str(row[0]), str(row[5])))
    return Table.from_rows(PARALLEL_GROUPS, rows)


def _row(name: str, ranks: tuple[int, ...], parts: list[tuple[int, GroupPart]], job: JobParts) -> tuple[object, ...]:
    description = next((part.description for _, part in parts if part.description), "")
    size = max(part.size for _, part in parts) or None
    kinds = sorted({kind for _, part in parts for kind in part.kinds})
    members = ranks or tuple(sorted(rank for rank, _ in parts))
    here = [rank for rank in members if rank in job.recordings]
    hosts = {job.host(rank) for rank in here}
    number = None if None in hosts or not hosts else len(hosts)
    world = max((recording.world_size or 0 for recording in job.recordings.values()), default=0)
    parallelism, by = _parallelism(f"{description} {name}", set(kinds), size, world or len(job.recordings))
    whole = len(here) == (size or len(members))
    across = number > 1 if number is not None and (number > 1 or whole) else None
    return (
        name, parallelism, by, description, size, list(members), len(here), number, across, kinds,
        sum(part.calls for _, part in parts), sum(part.bytes for _, part in parts),
    )  # fmt: skip


def _parallelism(words: str, kinds: set[str], size: int | None, world: int) -> tuple[str | None, str | None]:
    for kind, pattern in _PATTERNS:
        if pattern.search(words):
            # The default group of a job is that of its only parallelism, if its ranks average gradients in it.
            if kind == "world" and kinds & {"all_reduce", "reduce_scatter"} and size == world:
                break
            return kind, "name"
    if kinds and kinds <= _P2P:
        return "pipeline", "traffic"
    if kinds & {"all_to_all", "all_to_allv"}:
        return "expert", "traffic"
    if size == world and kinds & {"all_reduce", "reduce_scatter"}:
        return "data", "traffic"
    return None, None
