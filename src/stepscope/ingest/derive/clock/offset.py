"""The least shift of device times, constant or drifting, that satisfies given bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.clock.bounds import LAUNCH_NS, Bounds

#: Parts of a recording whose bounds are fitted one by one, and from which the activities of a long one are taken.
WINDOWS: Final = 16
#: Shortest time from the end of work to the return of the wait: the least seen in 40 recordings, as for launches.
_RETURN_NS: Final = 1_000
#: Least number of violations, of launches and of waits, and their least share of all bounds, to shift the clock.
_LAUNCHES, _OFTEN = 8, 3
_SHARE: Final = 0.01
_WAITS_SHARE: Final = 0.5
#: Least drift over the recording, in ns and in multiples of the windows' deviation from the fitted line.
_DRIFT_NS: Final = 20_000
CLEAR: Final = 4
#: Quantile of the bounds that a fit uses instead of the extreme, so that outliers do not decide.
OUTLIERS: Final = 0.02
_NOTHING: Final = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Shift:
    """A linear correction added to device times: `ns` + `slope` x time.

    Attributes:
        ns: Offset at time 0 in ns.
        slope: Drift in ns per ns.
        early: Number of activities that started before their launch.
        returned: Number of calls that returned before the work they waited for had ended.
        span: Time of the last activity in ns.
        late: Number of launches onto an idle device that the offset rests on, where nothing else shows it.
        room: Number of launches onto a full queue that the offset rests on.
    """

    ns: int
    slope: float
    early: int
    returned: int
    span: int
    late: int = 0
    room: int = 0

    def at(self, times: NDArray[Any]) -> NDArray[np.float64]:
        """The correction at these times, in ns."""
        added: NDArray[np.float64] = self.ns + self.slope * times
        return added


def offset(least: Bounds, most: Bounds) -> Shift | None:
    """The shift that satisfies the bounds; None if none is needed, or none satisfies them."""
    early, returned = int((least.bound > 0).sum()), int((most.bound < 0).sum())
    systematic = early >= max(_LAUNCHES, _SHARE * least.bound.size)
    systematic |= returned >= max(_OFTEN, _WAITS_SHARE * most.bound.size)
    if not systematic:
        return None
    span = int(max(least.at.max(initial=0), most.at.max(initial=0)))
    for shift in (_constant(least, most), _drifting(least, most)):
        if shift is None:
            continue
        found = Shift(round(shift[0]), shift[1], early, returned, span)
        wrong = int((found.at(least.at) < least.bound).sum() + (found.at(most.at) > most.bound).sum())
        if wrong <= OUTLIERS * (least.bound.size + most.bound.size):
            return found
    return None


def _constant(least: Bounds, most: Bounds) -> tuple[float, float] | None:
    """A constant shift between the lower bounds of launches and the upper bounds of waits."""
    low = float(np.quantile(least.bound, 1 - OUTLIERS / 4)) if least.bound.size else -np.inf
    high = float(np.quantile(most.bound, OUTLIERS)) if most.bound.size else np.inf
    if low > high:
        return None
    middle = (low + high) / 2 if np.isfinite(low) and np.isfinite(high) else None
    if low > 0:
        shift = low + LAUNCH_NS if middle is None else min(low + LAUNCH_NS, middle)
    else:
        shift = high - _RETURN_NS if middle is None else max(high - _RETURN_NS, middle)
        # Where bounds conflict, launches count before waits.
        first = float(least.bound.max(initial=_NOTHING))
        shift = max(shift, first) if first <= high + _RETURN_NS else shift
    return shift, 0.0


def _drifting(least: Bounds, most: Bounds) -> tuple[float, float] | None:
    """A linear shift: the line fitted through the middle between the bounds of each window."""
    if not (least.bound.size and most.bound.size):
        return None
    edges = np.linspace(0, int(max(least.at.max(), most.at.max())) + 1, WINDOWS + 1)
    middles, shifts = [], []
    for lo, hi in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        low, high = (side.bound[(side.at >= lo) & (side.at < hi)] for side in (least, most))
        if low.size and high.size:
            middles.append((lo + hi) / 2)
            shifts.append((float(low.max()) + float(high.min())) / 2)
    if len(middles) < _OFTEN:
        return None
    slope, ns = np.polyfit(middles, shifts, 1)
    rest = float(np.std(np.array(shifts) - ns - slope * np.array(middles)))
    if abs(slope) * (middles[-1] - middles[0]) < max(_DRIFT_NS, CLEAR * rest):
        return None
    return float(ns), float(slope)
