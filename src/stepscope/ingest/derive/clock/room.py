"""Estimate the clocks' offset from launches that wait for room in a full queue.

A queue holds about a thousand launches. While it is full, each launch returns some microseconds after work ends. The
differences between returns and ends therefore pile up at the offset of the clocks; all others are spread by the lengths
of kernels.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.clock.offset import CLEAR, WINDOWS, Shift
from stepscope.model.intervals import Times

#: A queue that never held so many launches was not full.
_HELD: Final = 200
#: A full queue holds nearly as many as it ever did; it also holds what is no work, such as recorded events.
_FULL: Final = 0.9
#: A launch waited if it took so many times as long as quick ones.
_SLOW: Final = 10
_QUICK: Final = 0.05
#: Least number of launches that waited, and most pairs with ends that are looked at.
_ENOUGH: Final = 50
_PAIRS: Final = 4_000_000
#: Largest offset looked for, and width of a bin.
_FARTHEST_NS: Final = 2_000_000
_BIN_NS: Final = 1_000
#: Bins in which differences count as alike, those of drifting clocks, too; the share of launches that must have such
#: ones; how many times as many that must be as anywhere else, so many bins away.
_ALIKE: Final = 8
_DRIFTING: Final = 32
_SHARE: Final = 0.7
_DISTINCT: Final = 2
_AWAY: Final = 60
#: From the end of work to the return: 3 to 10 µs on NVIDIA with synchronous clocks, of which 5 are taken to be usual.
_SOONEST_NS, _LATEST_NS, _USUAL_NS = 0, 15_000, 5_000
#: Least drift; returns are so near to ends that less than waits need is enough.
_DRIFT_NS: Final = 8_000


def shift_by_room(work: dict[str, Any], calls: dict[str, Any]) -> Shift | None:
    """The shift at which launches onto full queues return as work ends; None without evidence for one.

    Args:
        work: `ts`, `stop`, `track` and `correlation` of device work; correlation 0 is none.
        calls: `ts`, `stop`, `correlation` and `launches` of host calls.
    """
    launching = np.flatnonzero(calls["launches"])
    launching = launching[np.argsort(calls["correlation"][launching], kind="stable")]
    best: Shift | None = None
    for track in np.unique(work["track"]).tolist() if launching.size else ():
        ends, returned = _waits(work, calls, launching, np.flatnonzero(work["track"] == track))
        if returned.size >= max(_ENOUGH, best.room if best else 0):
            best = _shift(ends, returned) or best
    return best


def _waits(
    work: dict[str, Any], calls: dict[str, Any], launching: NDArray[np.int64], mine: NDArray[np.int64]
) -> tuple[Times, Times]:
    """When the work of a queue had ended, in its order, and returns of the launches that waited for room in it."""
    mine = mine[np.argsort(work["ts"][mine], kind="stable")]
    ends: Times = np.maximum.accumulate(work["stop"][mine]).astype(np.int64)
    key, wanted = calls["correlation"][launching], work["correlation"][mine]
    at = np.minimum(np.searchsorted(key, wanted), key.size - 1)
    known = np.flatnonzero((key[at] == wanted) & (wanted > 0))
    call = launching[at[known]]
    returned: Times = calls["stop"][call].astype(np.int64)
    held = known + 1 - np.searchsorted(ends, returned, side="right")
    most = int(held.max(initial=0))
    if most < _HELD:
        return ends, returned[:0]
    took = returned - calls["ts"][call]
    waited = (took > _SLOW * max(float(np.quantile(took, _QUICK)), 1.0)) & (held >= _FULL * most)
    return ends, np.unique(returned[waited])


def _shift(ends: Times, returned: Times) -> Shift | None:
    at, difference = _differences(ends, returned)
    peak = _peak(difference, returned.size, _ALIKE)
    if peak is None:
        peak = _peak(difference, returned.size, _DRIFTING)
    if peak is None:
        return None
    near = np.abs(difference - peak) <= _AWAY * _BIN_NS
    ns, slope = _line(at[near], difference[near], peak)
    found = Shift(round(ns) - _USUAL_NS, slope, 0, 0, int(ends[-1]), room=int(returned.size))
    seen = found.at(np.array([0, found.span])) + _USUAL_NS
    return None if seen.min() >= _SOONEST_NS and seen.max() <= _LATEST_NS else found


def _differences(ends: Times, returned: Times) -> tuple[Times, Times]:
    """Of each pair of a return and an end near it: the end, and how much later the return is."""
    first = np.searchsorted(ends, returned - _FARTHEST_NS)
    number = np.searchsorted(ends, returned + _FARTHEST_NS, side="right") - first
    number[np.cumsum(number) > _PAIRS] = 0
    launch = np.repeat(np.arange(returned.size), number)
    place = np.arange(launch.size) - np.repeat(np.cumsum(number) - number, number) + np.repeat(first, number)
    return ends[place], returned[launch] - ends[place]


def _peak(difference: Times, launches: int, width: int) -> float | None:
    """Where differences pile up within so many bins, in ns; None if they do so nowhere, or in several places."""
    bins = 2 * _FARTHEST_NS // _BIN_NS + 1
    alike = np.convolve(np.bincount((difference + _FARTHEST_NS) // _BIN_NS, minlength=bins), np.ones(width), "same")
    peak = int(alike.argmax())
    elsewhere = max(alike[: max(peak - _AWAY, 0)].max(initial=0), alike[peak + _AWAY :].max(initial=0))
    if alike[peak] < max(_SHARE * launches, _DISTINCT * elsewhere):
        return None
    near = np.abs(difference + _FARTHEST_NS - peak * _BIN_NS) <= width * _BIN_NS
    return float(np.median(difference[near]))


def _line(at: Times, difference: Times, peak: float) -> tuple[float, float]:
    """The offset at time 0 and its drift in ns per ns, from where differences pile up in each part of the recording."""
    edges = np.linspace(0, int(at.max()) + 1, WINDOWS + 1)
    middles, peaks = [], []
    for lo, hi in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        some = difference[(at >= lo) & (at < hi)]
        if some.size >= _ENOUGH:
            count = np.bincount((some - int(some.min())) // _BIN_NS)
            top = int(np.convolve(count, np.ones(_ALIKE), "same").argmax()) * _BIN_NS + int(some.min())
            middles.append((lo + hi) / 2)
            peaks.append(float(np.median(some[np.abs(some - top) <= _ALIKE * _BIN_NS])))
    if len(middles) < 3:
        return peak, 0.0
    slope, ns = np.polyfit(middles, peaks, 1)
    rest = float(np.std(np.array(peaks) - ns - slope * np.array(middles)))
    drifts = abs(slope) * (middles[-1] - middles[0]) >= max(_DRIFT_NS, CLEAR * rest)
    return (float(ns), float(slope)) if drifts else (peak, 0.0)
