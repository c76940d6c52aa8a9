"""The order in which the ranks of a pipeline run parts of the model that are interleaved (virtual stages).

Each rank holds several parts: with S ranks, part c of rank r is the model's part c S + r. It runs micro-batches in
groups of S through one part after the other, a forward and a backward in turn once it has run ahead far enough
(Narayanan et al., "Efficient Large-Scale Language Model Training", 2021, section 2.2.2). What a part hands on goes to
the next rank, from the last one to the first; all ranks exchange in one order, so that none waits for another in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Kind = Literal["forward", "backward"]
#: Lengths that the order rests on: a backward takes twice a forward.
_LENGTHS: Final = {"forward": 1, "backward": 2}


class StagePass(NamedTuple):
    """A micro-batch's pass through a part of the model that a rank holds."""

    kind: Kind
    part: int
    number: int


@dataclass(frozen=True, slots=True)
class StageTurn:
    """What a rank does next.

    Attributes:
        work: The pass that is run, or whose result is sent, or that waits for what is received.
        peer: The stage that it is sent to or received from; None where it is run.
        sends: Whether it is sent.
    """

    work: StagePass
    peer: int | None = None
    sends: bool = False


def interleaved(stages: int, parts: int, count: int) -> tuple[tuple[StageTurn, ...], ...]:
    """The turns of each of S stages with a number of parts each, for a multiple of S micro-batches."""
    orders = [_order(stage, stages, parts, count) for stage in range(stages)]
    ended = dict[tuple[int, StagePass], int]()
    free, at = [0] * stages, [0] * stages
    turns: list[list[tuple[int, int, int, StageTurn]]] = [[] for _ in range(stages)]
    exchanges: list[tuple[int, int, StagePass, int, StagePass]] = []
    while any(at[stage] < len(orders[stage]) for stage in range(stages)):
        for stage in range(stages):
            while at[stage] < len(orders[stage]):
                work = orders[stage][at[stage]]
                source = _source(stage, work, stages, parts)
                if source is not None and source not in ended:
                    break
                start = max(free[stage], ended[source] if source is not None else 0)
                free[stage] = ended[stage, work] = start + _LENGTHS[work.kind]
                at[stage] += 1
                turns[stage].append((start, 1, 0, StageTurn(work)))
                if source is not None and source[0] != stage:
                    exchanges.append((ended[source], source[0], source[1], stage, work))
    for i, (when, sender, sent, receiver, work) in enumerate(sorted(exchanges)):
        turns[sender].append((when, 0, i, StageTurn(sent, receiver, sends=True)))
        turns[receiver].append((_posted(turns[receiver], when), 0, i, StageTurn(work, sender)))
    return tuple(tuple(turn for *_, turn in sorted(one, key=lambda each: each[:3])) for one in turns)


def _posted(turns: list[tuple[int, int, int, StageTurn]], when: int) -> int:
    """When a receive is posted: before the pass that runs as the result comes, so that it need not end first."""
    return next(
        (start for start, _, _, turn in turns if turn.peer is None and start < when < start + _LENGTHS[turn.work.kind]),
        when,
    )


def _order(stage: int, stages: int, parts: int, count: int) -> list[StagePass]:
    """The passes of one stage."""
    total = parts * count
    forwards = [_pass("forward", i, stages, parts) for i in range(total)]
    backwards = [_pass("backward", i, stages, parts) for i in range(total)]
    ahead = min(total, 2 * (stages - 1 - stage) + (parts - 1) * stages)
    order = forwards[:ahead]
    for forward, backward in zip(forwards[ahead:], backwards, strict=False):
        order += [forward, backward]
    return order + backwards[total - ahead :]


def _pass(kind: Kind, i: int, stages: int, parts: int) -> StagePass:
    group, place = divmod(i, stages * parts)
    part = place // stages
    return StagePass(kind, part if kind == "forward" else parts - 1 - part, group * stages + place % stages)


def _source(stage: int, work: StagePass, stages: int, parts: int) -> tuple[int, StagePass] | None:
    """The stage and pass whose result a pass needs; None for the first part's forward."""
    place = work.part * stages + stage
    if work.kind == "forward":
        before = place - 1
        return None if before < 0 else (before % stages, work._replace(part=before // stages))
    after = place + 1
    if after == stages * parts:
        return stage, work._replace(kind="forward")
    return after % stages, work._replace(part=after // stages)
