"""Which ranks the others wait for, and what is different about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from stepscope.model.errors import MissingInputError
from stepscope.rules.rule import Limits, Threshold
from stepscope.signals import Signal, Signals
from stepscope.signals.communication.cluster import gain_ns, host_name, kernels, waited_ns, waited_share, work
from stepscope.signals.communication.held_up import like_ranks, origins
from stepscope.signals.communication.pipeline import own_ns, stage
from stepscope.signals.data.data import wait_ns
from stepscope.signals.host.host import call_ns, dispatch_share, operator_ns
from stepscope.signals.shared.job import platform, step_ns

#: Signals of every rank that rules about late ranks read.
READS: Final[tuple[Signal[Any], ...]] = (
    waited_ns, waited_share, gain_ns, kernels, work, operator_ns, call_ns, dispatch_share, host_name, wait_ns, platform,
    stage, own_ns, step_ns,
)  # fmt: skip
#: A rank that waits less than this part of what the others wait is the one that comes last.
_LAST: Final = 0.3
#: Kernels are compared between ranks if they run equally often.
_SAME: Final = 0.02

MIN_WAIT: Final = Threshold(
    "min_wait", 0.01, "share", "What costs less than 1 % of the step is not shown."
)  # fmt: skip
MIN_RATIO: Final = Threshold(
    "min_ratio", 1.05, "ratio", "msprof-analyze calls ranks different from 5 % on, for computing and for free time."
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Late:
    """Ranks that the others wait for.

    Attributes:
        ranks: The late ones.
        others: Those that wait for them.
        wait_ns: Median time per step in which the others wait for them and compute nothing.
        share: The same as a share of their step.
        gain_ns: What each of the others would save per step at least if it did not have to wait.
        device: How many times as long the same kernels take on the late ranks.
        work: How many times as much their devices have to compute.
        host: How many times as long operators and launch calls take on their hosts.
        dispatch: Share of the step in which their devices wait for their hosts.
        loading_ns: How much longer they wait for their batches.
    """

    ranks: tuple[int, ...]
    others: tuple[int, ...]
    wait_ns: int
    share: float
    gain_ns: int
    device: float
    work: float
    host: float
    dispatch: float
    loading_ns: int

    @property
    def names(self) -> str:
        """The late ranks in words."""
        listed = ", ".join(str(rank) for rank in self.ranks[:8])
        return f"rank{'s' * (len(self.ranks) > 1)} {listed}" + " and others" * (len(self.ranks) > 8)


def late_ranks(ranks: Mapping[int, Signals], limits: Limits) -> Late | None:
    """The ranks that the others wait for; None if no rank is late repeatedly.

    Only durations are compared, never times of different ranks: the clocks of hosts differ. Of several pipelines at
    hand each stage is looked at by itself, and the rank that holds up its pipeline is the late one (`held_up.origins`).

    Raises:
        MissingInputError: There are no two ranks, or no collectives of which all participants are recorded.
    """
    if len(ranks) < 2:
        raise MissingInputError("the recording is of one rank", hint="open the recordings of all ranks together")
    waits = {rank: s.maybe(waited_ns) for rank, s in ranks.items()}
    known = {rank: wait for rank, wait in waits.items() if wait is not None}
    if len(known) < 2 or not any(known.values()):
        raise MissingInputError(
            "there are no collectives of which all ranks are recorded", hint="open the recordings of all ranks together"
        )
    pipelines = pipelines_of(ranks, known)
    if not pipelines:
        found = _last({rank: ranks[rank] for rank in known}, limits)
        return None if found is None else _compared(ranks, *found, like=found[1])
    # Ranks of a stage come to their collectives together; what they wait for may be another stage.
    stages = [_last({rank: ranks[rank] for rank in same}, limits) for same in like_ranks(pipelines)]
    late, others, share = max((one for one in stages if one), key=lambda one: one[2], default=((), (), 0.0))
    own = {rank: ns for rank in known if (ns := ranks[rank].maybe(own_ns)) is not None}
    least = limits[MIN_WAIT.name] * median(ranks[rank](step_ns) for rank in others) if others else 0.0
    first = origins(late, pipelines, own, least)
    if not first:
        return None
    [same] = [same for same in like_ranks(pipelines) if first[0] in same]
    return _compared(ranks, first, others, share, tuple(rank for rank in same if rank not in first))


def pipelines_of(ranks: Mapping[int, Signals], known: Iterable[int]) -> list[tuple[int, ...]]:
    """The ranks of each pipeline, where all these ranks are in one of several pipelines at hand; else none."""
    told = {rank: one.ranks for rank in known if (one := ranks[rank].maybe(stage)) is not None and len(one.ranks) > 1}
    found = sorted(set(told.values()))
    members = [rank for pipe in found for rank in pipe]
    whole = len(found) > 1 and len(members) == len(set(members)) and set(members) == set(told) == set(known)
    return found if whole else []


def _last(ranks: Mapping[int, Signals], limits: Limits) -> tuple[tuple[int, ...], tuple[int, ...], float] | None:
    """Of ranks that meet in collectives those that come last, the others, and what these wait as a share of the step.

    None where nobody waits long, or most come last.
    """
    waits = {rank: s(waited_ns) for rank, s in ranks.items()}
    usual = median(sorted(waits.values())[len(waits) // 2 :])
    late = tuple(rank for rank, wait in waits.items() if wait <= _LAST * usual)
    others = tuple(rank for rank in waits if rank not in late)
    share = median(ranks[rank](waited_share) for rank in others) if others else 0.0
    return None if not late or len(late) > len(others) or share < limits[MIN_WAIT.name] else (late, others, share)


def _compared(
    ranks: Mapping[int, Signals], late: tuple[int, ...], others: tuple[int, ...], share: float, like: tuple[int, ...]
) -> Late:
    """Late ranks held against those that are like them; the others are those that wait."""
    slow, fast = [ranks[rank] for rank in late], [ranks[rank] for rank in like]
    gains = [gain for rank in others if (gain := ranks[rank].maybe(gain_ns)) is not None]
    wait = int(median(ranks[rank](waited_ns) for rank in others))
    return Late(
        late,
        others,
        wait,
        share,
        min(gains, default=wait),
        _device_ratio(slow, fast),
        _ratio(_amounts(slow), _amounts(fast)),
        max(_ratio(_values(slow, one), _values(fast, one)) for one in (operator_ns, call_ns)),
        median(_values(slow, dispatch_share) or [0.0]),
        int(median(_values(slow, wait_ns) or [0]) - median(_values(fast, wait_ns) or [0])),
    )


def _values(ranks: Iterable[Signals], wanted: Signal[Any]) -> list[float]:
    return [value for s in ranks if (value := s.maybe(wanted)) is not None]


def _amounts(ranks: Iterable[Signals]) -> list[float]:
    return [float(found.amount.mean()) for s in ranks if (found := s.maybe(work)) is not None and found.amount.size]


def _ratio(slow: list[float], fast: list[float]) -> float:
    """Median over median; 1 where one of them is not known."""
    usual = median(fast) if fast else 0.0
    return median(slow) / usual if slow and usual else 1.0


def _device_ratio(slow: list[Signals], fast: list[Signals]) -> float:
    """How many times as long kernels that run equally often take on the slow ranks, weighted by their time."""
    taken, usual = 0.0, 0.0
    profiles = [s.maybe(kernels) or {} for s in slow]
    reference = [s.maybe(kernels) or {} for s in fast]
    for name in set.intersection(*(set(profile) for profile in (*profiles, *reference))):
        ours, theirs = [p[name] for p in profiles], [p[name] for p in reference]
        number = median(one.number for one in theirs)
        if all(abs(one.number - number) <= _SAME * number for one in (*ours, *theirs)):
            taken += median(one.ns for one in ours)
            usual += median(one.ns for one in theirs)
    return taken / usual if usual else 1.0
