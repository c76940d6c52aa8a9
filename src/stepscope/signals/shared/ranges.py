"""Containment of events in ranges of host code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def inside(points: Mapping[str, NDArray[Any]], ranges: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Whether each point lies in a range of its track, bool[n].

    Args:
        points: `track` and `ts`, each of n values.
        ranges: `track`, `ts` and `stop`; ranges of a track ascend and do not overlap.
    """
    found = np.zeros(points["ts"].size, np.bool_)
    for track in np.unique(ranges["track"]).tolist():
        own, mine = ranges["track"] == track, points["track"] == track
        starts, stops, ts = ranges["ts"][own], ranges["stop"][own], points["ts"][mine]
        at = np.searchsorted(starts, ts, side="right") - 1
        found[mine] = (at >= 0) & (ts < stops[np.maximum(at, 0)])
    return found


def apart(ts: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of n events starts after all before it have ended, bool[n]; they ascend by start, longest first."""
    begun = np.ones(ts.size, np.bool_)
    if ts.size:
        begun[1:] = ts[1:] >= np.maximum.accumulate(stop)[:-1]
    return begun
