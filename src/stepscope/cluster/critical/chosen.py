"""Which step of a job is looked at: the median one, as all ranks have it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from stepscope.analyses.shared.needs import has_device
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace

#: Of each step of a rank its length in ns, and whether it is typical.
StepLengths = Mapping[int, tuple[int, bool]]


class AskedStep(NamedTuple):
    """What each rank is asked for.

    Attributes:
        number: The step.
        ranks: The ranks that are asked: of others it is not known what they did.
    """

    number: int
    ranks: frozenset[int]


def step_lengths(trace: Trace) -> StepLengths:
    """The steps of a rank that last, by number; none where nothing is recorded of its devices but sums."""
    if not trace.once(has_device):
        return {}
    steps = Steps.of(trace)
    rows = zip(steps.step.tolist(), steps.length.tolist(), steps.typical.tolist(), strict=True)
    return {step: (length, typical) for step, length, typical in rows if length > 0}


def asked_step(_: Trace) -> AskedStep | None:
    """The step of the job that is looked at; stated where the job is known, else None."""
    return None


def ask_step(job: Mapping[int, StepLengths], ranks: Collection[int], among: Collection[int]) -> AskedStep | None:
    """What ranks are asked for: the median step of the job among some steps; None if they have none of these."""
    known = {rank: job[rank] for rank in ranks if job.get(rank)}
    number = median_step(known, among)
    return None if number is None else AskedStep(number, frozenset(known))


def median_step(ranks: Mapping[int, StepLengths], among: Collection[int] = ()) -> int | None:
    """The step of median length, by the longest on any rank; of two the shorter one, of equal ones the first.

    Steps that are typical on all ranks that have them come before others, and those that more ranks have before those
    that fewer have.

    Args:
        ranks: The steps of each rank.
        among: Steps to choose from; empty for all.

    Returns:
        Its number; None if there is none.
    """
    known: dict[int, list[tuple[int, bool]]] = {}
    for lengths in ranks.values():
        for step, one in lengths.items():
            if not among or step in among:
                known.setdefault(step, []).append(one)
    if not known:
        return None
    best = max((all(typical for _, typical in found), len(found)) for found in known.values())
    ordered = sorted(
        (max(length for length, _ in found), step)
        for step, found in known.items()
        if (all(typical for _, typical in found), len(found)) == best
    )
    middle, _ = ordered[(len(ordered) - 1) // 2]
    return min(step for length, step in ordered if length == middle)
