"""Bounds of the shift of device times: from launches, which precede their work, and from waits, which outlast it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times

#: Shortest time from a launch call's start to the kernel's start: the least seen in 40 recordings with synchronous
#: clocks.
LAUNCH_NS: Final = 4_000
#: Clocks that differ by more have another epoch, which is not corrected here.
_FARTHEST_NS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """n lower or upper bounds of the shift.

    Attributes:
        at: int64[n], time of each in ns.
        bound: int64[n], the bound in ns.
    """

    at: Times
    bound: Times


def bounds(work: dict[str, Any], calls: dict[str, Any], waits: list[int]) -> tuple[Bounds, Bounds]:
    """Lower bounds of the shift from launches, and upper bounds from waits."""
    launching = np.flatnonzero(calls["launches"])
    launching = launching[np.lexsort((calls["ts"][launching], calls["correlation"][launching]))]
    key = calls["correlation"][launching]
    at = np.minimum(np.searchsorted(key, work["correlation"]), max(key.size - 1, 0))
    mine = np.flatnonzero(key[at] == work["correlation"]) if key.size else np.zeros(0, np.int64)
    call = launching[at[mine]] if key.size else mine
    ts, stop, called = work["ts"][mine], work["stop"][mine], calls["ts"][call]
    # Work queued behind other work starts later than it could have: a weak bound, but a valid one.
    away = work["away"][mine]
    copied = Bounds(stop[away], (calls["stop"][call] - stop)[away])
    waited = _waited(calls, waits, stop, called, calls["track"][call])
    most = Bounds(np.concatenate((copied.at, waited.at)), np.concatenate((copied.bound, waited.bound)))
    return _close(Bounds(ts, called - ts)), _close(most)


def _waited(calls: dict[str, Any], waits: list[int], stop: Times, called: Times, thread: NDArray[Any]) -> Bounds:
    """Upper bounds from the return of waits, given what each thread had launched and when that ended."""
    found_at, found = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    waiting = np.flatnonzero(np.isin(calls["name_id"], waits) & ~calls["launches"].astype(bool))
    for track in np.unique(calls["track"][waiting]).tolist():
        its, own = waiting[calls["track"][waiting] == track], np.flatnonzero(thread == track)
        if not own.size:
            continue
        own = own[np.argsort(called[own], kind="stable")]
        # When the call returns, all work launched by the thread has ended: it waited for the last of it.
        last = np.maximum.accumulate(stop[own])
        place = np.searchsorted(called[own], calls["ts"][its], side="left") - 1
        its, place = its[place >= 0], place[place >= 0]
        end, begun, returned = last[place], calls["ts"][its], calls["stop"][its]
        took = returned - begun
        # It did wait if that ended well within the call; if it seems to end much later, it waited for something else.
        real = (end - begun > took // 2) & (end - returned < np.maximum(took // 4, 4 * LAUNCH_NS))
        found_at.append(end[real])
        found.append((returned - end)[real])
    return Bounds(np.concatenate(found_at).astype(np.int64), np.concatenate(found).astype(np.int64))


def _close(found: Bounds) -> Bounds:
    near = np.abs(found.bound) <= _FARTHEST_NS  # farther apart: queued work, or an unrelated clock
    return Bounds(found.at[near], found.bound[near])
