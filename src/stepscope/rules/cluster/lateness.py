"""Which ranks the others wait for, and what is different about them: each late rank is the subject of one rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any, Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.errors import MissingInputError
from stepscope.rules.cluster.like import Like, amount, ratio
from stepscope.rules.rule import Limits, Threshold
from stepscope.signals import Signal, Signals
from stepscope.signals.communication.cluster import gain_ns, host_name, kernels, work
from stepscope.signals.communication.late_rank import LateRank
from stepscope.signals.communication.late_ranks import late_ranks
from stepscope.signals.communication.rank_times import RankTimes, rank_times
from stepscope.signals.data.data import wait_ns
from stepscope.signals.host.host import call_ns, dispatch_share, operator_ns
from stepscope.signals.shared.job import platform

#: Signals of every rank that rules about late ranks read.
READS: Final[tuple[Signal[Any], ...]] = (
    rank_times, gain_ns, kernels, work, operator_ns, call_ns, dispatch_share, host_name, wait_ns, platform,
)  # fmt: skip
#: What a rank waits longer for its batches explains its idling from so much of it on.
_EXPLAINS: Final = 0.5
#: Where the step would be shorter by less than this part of the waiting, as in the bubble of a pipeline, it is not all
#: for the late rank.
_ANYWAY: Final = 0.25
#: So many ranks are named.
_NAMED: Final = 8

MIN_WAIT: Final = Threshold(
    "min_wait", 0.01, "share", "What costs less than 1 % of the step is not shown."
)  # fmt: skip
MIN_RATIO: Final = Threshold(
    "min_ratio", 1.05, "ratio", "msprof-analyze calls ranks different from 5 % on, for computing and for free time."
)  # fmt: skip
MIN_HOST_RATIO: Final = Threshold(
    "min_host_ratio", 1.2, "ratio", "Medians of thousands of calls differ by less than 10 % between equal hosts."
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Late:
    """One rank that the others wait for, held against these.

    Attributes:
        found: How late it is, and by what.
        gain_ns: What each of its like would save per step at least if it did not have to wait.
        device: How many times as long the same kernels take there.
        work: How many times as much its device has to compute.
        host: How many times as long operators and launch calls take on its host.
        dispatch: Share of the step in which its device waits for its host.
        loading_ns: How much longer it waits for its batches.
    """

    found: LateRank
    gain_ns: int
    device: float
    work: float
    host: float
    dispatch: float
    loading_ns: int

    @property
    def cause(self) -> str:
        """`work`, `device`, `loading` or `host`; empty where what it takes longer has none of these for a cause."""
        if self.found.reason == "compute":
            if self.work >= MIN_RATIO.default:
                return "work"
            return "device" if self.device >= MIN_RATIO.default else ""
        if self.found.reason == "host":
            if self.loading_ns >= _EXPLAINS * self.found.parts["host"]:
                return "loading"
            slower = self.host >= MIN_HOST_RATIO.default and self.dispatch >= MIN_WAIT.default
            return "host" if slower else ""
        return ""


@dataclass(frozen=True, slots=True)
class LateOnes:
    """Ranks that are late for one cause, the one that is waited for most first."""

    ranks: tuple[Late, ...]

    @property
    def first(self) -> Late:
        """The one that is waited for most."""
        return self.ranks[0]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Their numbers."""
        return tuple(one.found.rank for one in self.ranks)

    @property
    def like(self) -> tuple[int, ...]:
        """Ranks that wait for them."""
        return tuple(dict.fromkeys(rank for one in self.ranks for rank in one.found.like))

    @property
    def names(self) -> str:
        """Which they are, in words."""
        return named(self.numbers)

    @property
    def gain_ns(self) -> int:
        """What the others would save without the one that is waited for most."""
        return self.first.gain_ns

    @property
    def waiting(self) -> str:
        """How long the others wait for them, as the beginning of a sentence."""
        found = self.first.found
        long = said(
            "The others wait {wait} per step ({share})", wait=duration(found.wait_ns), share=percent(found.share)
        )
        if self.gain_ns < _ANYWAY * found.wait_ns:
            return said("{long} longer than {names}, most of which they would wait anyway", long=long, names=self.names)
        return said("{long} for {names}", long=long, names=self.names)

    @property
    def beside(self) -> str:
        """A sentence on ranks that are not at hand, where there may be any; else empty."""
        return (
            said(" Ranks that are not at hand may be later still.")
            if any(one.found.absent for one in self.ranks)
            else ""
        )

    @property
    def confidence(self) -> float:
        """How much surer it is than what is known of one step, or of some of the ranks."""
        return (0.9 if self.first.found.steps > 1 else 0.7) * (0.85 if self.beside else 1.0)

    def median(self, of: Callable[[Late], float]) -> float:
        """Median of a number of theirs."""
        return median(of(one) for one in self.ranks)


def named(ranks: tuple[int, ...]) -> str:
    """Ranks in words: all of them would fill a page where they are many."""
    listed = ", ".join(str(rank) for rank in ranks[:_NAMED])
    if len(ranks) > _NAMED:
        return said("ranks {numbers} and others", numbers=listed)
    return said("ranks {numbers}", numbers=listed) if len(ranks) > 1 else said("rank {number}", number=listed)


def late_by_cause(ranks: Mapping[int, Signals], limits: Limits) -> dict[str, LateOnes]:
    """The ranks that the others wait for, by `Late.cause`; empty if no rank is late repeatedly.

    Only durations are compared, never times of different ranks: the clocks of hosts differ.

    Raises:
        MissingInputError: There are no two ranks, or no collectives that tell waiting from transfer.
    """
    times = times_of_ranks(ranks)
    found: dict[str, list[Late]] = {}
    # Where many ranks are late, they are held against the same ones.
    like = cache(lambda numbers: Like.of([ranks[rank] for rank in numbers]))
    for one in late_ranks(times, limits.get(MIN_WAIT.name, MIN_WAIT.default)).values():
        late = _compared(ranks, one, like(one.like))
        found.setdefault(late.cause, []).append(late)
    return {cause: LateOnes(tuple(late)) for cause, late in found.items()}


def times_of_ranks(ranks: Mapping[int, Signals]) -> dict[int, RankTimes]:
    """Where the steps of each rank go.

    Raises:
        MissingInputError: There are no two ranks, or no collectives that tell waiting from transfer.
    """
    if len(ranks) < 2:
        raise MissingInputError("the recording is of one rank", hint="open the recordings of all ranks together")
    times = {rank: one for rank, s in ranks.items() if (one := s.maybe(rank_times)) is not None}
    if not any(one.waited_ns for one in times.values()):
        raise MissingInputError(
            "there are no collectives of which enough ranks are recorded",
            hint="open the recordings of all ranks together",
        )
    return times


def _compared(ranks: Mapping[int, Signals], found: LateRank, like: Like) -> Late:
    """A late rank held against those that are like it."""
    slow = ranks[found.rank]
    return Late(
        found,
        min(found.wait_ns, found.least_ns, *(() if like.gain_ns is None else (like.gain_ns,))),
        like.device_ratio(slow.maybe(kernels) or {}),
        ratio(amount(slow), like.amount),
        max(ratio(slow.maybe(one), usual) for one, usual in ((operator_ns, like.operator_ns), (call_ns, like.call_ns))),
        slow.maybe(dispatch_share) or 0.0,
        int((slow.maybe(wait_ns) or 0) - (like.wait_ns or 0)),
    )
