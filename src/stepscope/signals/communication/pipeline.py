"""Pipeline parallelism: how long a stage waits for its neighbours, and what it computes meanwhile.

Stages hand activations and gradients on by sends and receives. A receive that has long begun when its data comes is
the pipeline's bubble; what moves the data takes a fraction of a millisecond.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.communication.given_groups import GivenGroup, given_for, given_groups
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.signals.communication.communication import P2P, CollectiveCalls, calls
from stepscope.signals.shared.job import infers
from stepscope.signals.shared.step_columns import longest
from stepscope.signals.signal import Signals, signal

_GROUPS_SQL: Final = 'SELECT "group", any_value(description) AS description, any_value(ranks) AS ranks FROM groups ' \
                     "GROUP BY 1"  # fmt: skip
_RANKS_SQL: Final = 'SELECT "group", any_value(ranks) AS ranks FROM collectives WHERE ranks IS NOT NULL GROUP BY 1'
#: What frameworks call the groups of stages; embeddings are shared by the first and the last.
_PIPELINE: Final = re.compile(r"(?:^|[^a-z])(?:pp|pipe|pipeline(?:_model)?(?:_parallel)?|stages?)(?:[^a-z]|$)", re.I)
#: Sends and receives of others: rings of attention, experts, expert and data parallelism.
_OTHERS: Final = re.compile(
    r"(?:^|[^a-z])(?:cp|context|ring|ulysses|sp|ep|expert|moe|tp|tensor|dp|data)(?:[^a-z]|$)", re.I
)
_RECEIVED_SQL: Final = "SELECT event, peer FROM collectives WHERE collective = 'recv' AND peer IS NOT NULL"
_PAIR: Final = 2
#: Numbers of receives from the two neighbours give the number of parts but for so much, where some are not recorded.
_UNEVEN: Final = 0.05
#: Attention kernels per call of a stage, at least: each layer has two per micro-batch, which takes two to four calls.
_PER_CALL: Final = 2
_ATTENTION_SQL: Final = """
SELECT count(*) FROM kernels WHERE op_class = 'attention' AND step IN (SELECT step FROM steps WHERE typical)
"""


@dataclass(frozen=True, slots=True)
class StageTimes:
    """What a rank does in a pipeline, per step.

    Attributes:
        group: The group of stages, as recorded.
        ranks: Its ranks in the order of stages; empty if not recorded.
        position: Which of them this rank is; None if not recorded.
        calls: Sends and receives.
        arrivals: How many of them brought data, or of interleaved parts how many micro-batches; None if not told.
        bubble_ns: Time in which the rank waited in them, beyond moving the data, and computed nothing.
        compute_ns: Time in which its device computed.
        told: Whether waiting was distinguished from moving data, or bounded by what moving as much takes at best.
        events: The longest of the calls.
        parts: Parts of the model on the rank, interleaved with those of the others, as far as its calls tell.
    """

    group: str
    ranks: tuple[int, ...]
    position: int | None
    calls: float
    arrivals: float | None
    bubble_ns: int
    compute_ns: int
    told: bool
    events: NDArray[np.int64]
    parts: int = 1

    @property
    def stages(self) -> int | None:
        """Number of stages; None if not recorded."""
        return len(self.ranks) or None


@signal()
def between_stages(s: Signals) -> tuple[CollectiveCalls, Mapping[str, tuple[int, ...]]]:
    """Sends and receives between the stages of a pipeline of a training job, with the ranks of each such group."""
    found, groups, pipe = s(calls), _groups(s), s(given_pipe)
    stated = s.trace.whole.once(given_groups)
    attentions = int(s.trace.scalar(_ATTENTION_SQL) or 0)
    of_pipeline = {
        group: ranks
        for group in np.unique(found.group).tolist()
        if (ranks := _stages(group, groups, found, attentions, (stated, pipe))) is not None
    }
    mine = found.where(np.isin(found.name, P2P) & np.isin(found.group, list(of_pipeline)))
    if not mine.event.size or s.maybe(infers):
        raise MissingInputError(
            "no step of the recording sends or receives between the stages of a pipeline",
            hint="record whole training steps of a job with pipeline parallelism",
        )
    return mine, of_pipeline


@signal()
def bubbles(s: Signals) -> Mapping[int, int]:
    """Exposed waiting in sends and receives between stages beyond moving the data, ns by step."""
    mine, _ = s(between_stages)
    waited = np.minimum(mine.exposed, mine.dur - mine.transfer)
    each, index = np.unique(mine.step, return_inverse=True)
    sums = np.zeros(each.size, np.int64)
    np.add.at(sums, index, waited)
    return dict(zip(each.tolist(), sums.tolist(), strict=True))


@signal()
def stage(s: Signals) -> StageTimes:
    """The rank's stage in a pipeline of a training job: in a group named so, or with sends to one other rank."""
    mine, of_pipeline = s(between_stages)
    waited = np.minimum(mine.exposed, mine.dur - mine.transfer)
    group = _most(mine.group, waited)
    ranks = of_pipeline[group]
    position = ranks.index(s.rank) if s.rank in ranks else None
    parts, batches = _interleaved(s, mine, ranks, position)
    return StageTimes(
        group,
        ranks,
        position,
        mine.event.size / mine.steps,
        (batches or _arrivals(mine) / mine.steps) if mine.told.all() else None,
        int(waited.sum()) // mine.steps,
        _compute_ns(s),
        bool(mine.told.all()),
        longest(mine.event, waited),
        parts,
    )


@signal()
def given_pipe(s: Signals) -> tuple[int, ...]:
    """The ranks of the pipeline that the user states the rank to be in, by stage; empty if none is stated."""
    stated = s.trace.whole.once(given_groups)
    return next((one.ranks for one in stated if one.parallelism == "pipeline" and s.rank in one.ranks), ())


def _groups(s: Signals) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Purpose and ranks of groups, by name."""
    found = {row["group"]: (row["description"] or "", tuple(row["ranks"] or ())) for row in s.trace.rows(_GROUPS_SQL)}
    for row in s.trace.rows(_RANKS_SQL):
        description, ranks = found.get(row["group"], ("", ()))
        found[row["group"]] = description, ranks or tuple(row["ranks"])
    return found


def _stages(
    group: str,
    groups: dict[str, Any],
    found: CollectiveCalls,
    attentions: int,
    given: tuple[tuple[GivenGroup, ...], tuple[int, ...]],
) -> tuple[int, ...] | None:
    """The ranks of a group of stages, empty if neither recorded nor stated; None for any other group."""
    description, ranks = groups.get(group, ("", ()))
    stated, pipe = given
    if (one := given_for(stated, group, ranks)) is not None:
        return (tuple(ranks) or one.ranks) if one.parallelism == "pipeline" else None
    told = f"{description} {group}"
    if _PIPELINE.search(told):
        return tuple(ranks) or pipe
    if _OTHERS.search(told):
        return None
    kinds = set(found.name[found.group == group].tolist())
    if pipe and set(pipe) <= set(ranks or pipe):
        return pipe  # sends and receives in the group of all ranks are a pipeline's, too, where one is stated
    world = int(found.world[found.group == group].max(initial=-1))
    # A pair that does nothing else but send and receive is two neighbouring stages. Larger groups exchange all to all
    # by the same calls, and two ranks with half of the context each do so around the attention of every layer.
    number = int(np.count_nonzero(found.group == group))
    alone = (
        kinds <= set(P2P) and max(len(ranks), world) == _PAIR and (attentions == 0 or _PER_CALL * number <= attentions)
    )
    return tuple(ranks) if alone else None


def _interleaved(
    s: Signals, mine: CollectiveCalls, ranks: tuple[int, ...], position: int | None
) -> tuple[int, float | None]:
    """Parts of the model on the first or last of more than two stages, and micro-batches per step, if interleaved.

    With v parts on each rank and m micro-batches, it receives v m times from its neighbour, and (v - 1) m times from
    the stage at the other end, with which it exchanges nothing otherwise.
    """
    if position not in (0, len(ranks) - 1) or len(ranks) <= _PAIR:
        return 1, None
    events = set(mine.event.tolist())
    peers = [row["peer"] for row in s.trace.rows(_RECEIVED_SQL) if row["event"] in events]
    beside, other = (peers.count(ranks[at]) for at in ((1, -1) if position == 0 else (-2, 0)))
    if not 0 < other < beside:
        return 1, None
    parts = beside / (beside - other)
    # Something else that the two ends exchange, such as the loss once per step, makes no whole number of parts.
    if round(parts) < _PAIR or abs(parts - round(parts)) > _UNEVEN * parts:
        return 1, None
    return round(parts), (beside - other) / mine.steps


def _arrivals(mine: CollectiveCalls) -> int:
    """Calls that received data; calls that only sent moved none themselves."""
    return int(np.count_nonzero((mine.name != "send") & (mine.transfer > 0)))


def _most(group: NDArray[np.str_], waited: NDArray[np.int64]) -> str:
    names, index = np.unique(group, return_inverse=True)
    return str(names[np.bincount(index, weights=waited).argmax()])


def _compute_ns(s: Signals) -> int:
    """Compute time of the mean typical step, over all devices of the rank."""
    complete = set(Steps.of(s.trace).typical_steps.tolist())
    rows = [row for row in s.table("step_budget").records() if row["step"] in complete]
    return sum(int(row["compute_ns"]) for row in rows) // max(len(complete), 1)
