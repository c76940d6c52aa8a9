"""What is usual for the ranks that a late rank is held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from stepscope.signals import Signal, Signals
from stepscope.signals.communication.cluster import Kernel, gain_ns, kernels, work
from stepscope.signals.data.data import wait_ns
from stepscope.signals.host.host import call_ns, operator_ns

#: Kernels are compared between ranks if they run equally often.
_SAME: Final = 0.02


@dataclass(frozen=True, slots=True)
class Like:
    """Ranks that do the same. What is not known of any of them is None.

    Attributes:
        gain_ns: The least that one of them would save per step if it did not have to wait.
        amount: What the device of one has to compute, as a median.
        operator_ns: How long operators that call nothing take, as a median over ranks.
        call_ns: The same of launch calls.
        wait_ns: How long one waits for its batches per step, as a median.
        often: By name of kernels that all of them run equally often: how often, as a median.
        times: By these names, how long one takes, as a median in ns.
    """

    gain_ns: int | None
    amount: float | None
    operator_ns: float | None
    call_ns: float | None
    wait_ns: float | None
    often: Mapping[str, float]
    times: Mapping[str, float]

    @classmethod
    def of(cls, ranks: Sequence[Signals]) -> Like:
        """What is usual for some ranks."""
        often, times = {}, {}
        profiles = [s.maybe(kernels) or {} for s in ranks]
        for name in set(profiles[0]).intersection(*profiles[1:]):
            same = [profile[name] for profile in profiles]
            number = median(one.number for one in same)
            if all(_equally_often(one, number) for one in same):
                often[name], times[name] = number, median(one.ns for one in same)
        return cls(
            min((gain for s in ranks if (gain := s.maybe(gain_ns)) is not None), default=None),
            _usual([amount(s) for s in ranks]),
            _median(operator_ns, ranks), _median(call_ns, ranks), _median(wait_ns, ranks), often, times,
        )  # fmt: skip

    def device_ratio(self, profile: Mapping[str, Kernel]) -> float:
        """How many times as long kernels take on another rank that runs them as often, weighted by their time."""
        same = [name for name in self.often if name in profile and _equally_often(profile[name], self.often[name])]
        return ratio(sum(profile[name].ns for name in same), sum(self.times[name] for name in same))


def amount(s: Signals) -> float | None:
    """What the device of a rank has to compute per step, as a mean."""
    found = s.maybe(work)
    return float(found.amount.mean()) if found is not None and found.amount.size else None


def ratio(one: float | None, usual: float | None) -> float:
    """How many times as much one is; 1 where that is not known."""
    return one / usual if one is not None and usual else 1.0


def _equally_often(one: Kernel, number: float) -> bool:
    return abs(one.number - number) <= _SAME * number


def _usual(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _median(of: Signal[Any], ranks: Sequence[Signals]) -> float | None:
    return _usual([s.maybe(of) for s in ranks])
