"""Process groups: their ranks, and the backend of their collectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.model.errors import MissingInputError
from stepscope.signals.communication.parallelism import parallelism_named
from stepscope.signals.signal import Signals, signal

_GROUPS_SQL: Final = """
SELECT c."group", g.description, g.backend, list_sort(g.ranks) AS ranks, c.calls
FROM (SELECT "group", count(*) AS calls FROM collectives GROUP BY 1) c LEFT JOIN (
    SELECT "group", any_value(description) AS description, any_value(backend) AS backend, any_value(ranks) AS ranks
    FROM groups GROUP BY 1) g USING ("group")
ORDER BY 1
"""
_PURPOSES_SQL: Final = """
SELECT DISTINCT c."group" AS name, coalesce(g.description, c."group") AS words
FROM collectives c LEFT JOIN groups g USING ("group") WHERE c."group" IS NOT NULL
"""
#: What Megatron's `parallel_state` calls its groups; a name alone may be anybody's.
_MEGATRON: Final = frozenset({
    "DP_CP", "DATA_PARALLEL_GROUP_WITH_CP", "DATA_PARALLEL_GROUP", "EMBD", "EMBEDDING_GROUP", "MP",
    "MODEL_PARALLEL_GROUP", "TP", "TENSOR_MODEL_PARALLEL_GROUP", "PP", "PIPELINE_MODEL_PARALLEL_GROUP",
    "POSITION_EMBEDDING_GROUP", "CONTEXT_PARALLEL_GROUP", "TENSOR_AND_DATA_PARALLEL_GROUP",
})  # fmt: skip
_SEVERAL: Final = 3


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A process group with collectives in the recording.

    Attributes:
        name: As recorded.
        backend: nccl, gloo, hccl, ...; empty if not recorded.
        ranks: Its ranks, ascending; empty if not recorded.
        calls: How many collectives it has on this rank.
    """

    name: str
    backend: str
    ranks: tuple[int, ...]
    calls: int


@signal()
def groups(s: Signals) -> tuple[ProcessGroup, ...]:
    """The process groups that communicate on this rank."""
    rows = s.trace.rows(_GROUPS_SQL)
    if not rows:
        raise MissingInputError("the recording has no collective", hint="record a job of several ranks")
    return tuple(
        ProcessGroup(row["group"], (row["backend"] or "").lower(), tuple(row["ranks"] or ()), row["calls"])
        for row in rows
    )


@signal("count")
def world_size(s: Signals) -> int | None:
    """Ranks of the job; null if neither the recording nor its groups show it."""
    told = s.trace.recordings[s.rank].world_size
    sizes = s.trace.sql("SELECT max(size) AS size FROM groups")["size"].to_pylist()
    return told or sizes[0]


@signal()
def megatron(s: Signals) -> bool:
    """Whether Megatron or a framework derived from it set the groups up, by arguments or names of groups."""
    if any(name.startswith("distributed.") for name in s.trace.recordings[s.rank].attributes):
        return True
    rows = s.trace.sql("SELECT DISTINCT upper(description) AS name FROM groups WHERE description IS NOT NULL")
    return len(_MEGATRON.intersection(rows["name"].to_pylist())) >= _SEVERAL


@signal()
def tensor_groups(s: Signals) -> frozenset[str]:
    """Groups that single layers are divided over, by what their names or descriptions say."""
    rows = s.trace.rows(_PURPOSES_SQL)
    return frozenset(row["name"] for row in rows if parallelism_named(row["words"]) == "tensor")
