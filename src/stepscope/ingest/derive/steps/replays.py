"""Steps by replays of graphs, where nothing but these ran on the device.

One call launches all kernels of a graph. Where graphs run back to back, no head, pause or copy tells one pass from the
next, and the kernels repeat by layers; the calls still tell them. Which graphs are one step is the period of the calls.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.steps.inference import LEAST_LENGTH, LEAST_MATCH, LEAST_PERIODS, Cuts, Names
from stepscope.model.intervals import Times

#: Least share of the device's time in graphs of several kernels.
_MOST_WORK: Final = 0.8
#: Longest period in calls: a decoder is launched in one graph, or one for each of its layers.
_LONGEST: Final = 256


def replayed(names: Names, durs: Times, calls: Times, launched: NDArray[np.bool_]) -> Cuts | None:
    """Split kernels into the periods of the calls that launched them.

    Args:
        names: int64[n], names of kernels as numbers.
        durs: int64[n], their durations in ns.
        calls: int64[n], when the call began that launched each, in ns.
        launched: bool[n], whether that is recorded.

    Returns:
        The steps; None if most work was launched kernel by kernel, or the calls have no period.
    """
    if not launched.all() or not names.size:
        return None
    first = np.flatnonzero(np.diff(calls, prepend=calls[0] - 1))
    sizes = np.diff(np.append(first, names.size))
    work = np.add.reduceat(durs, first)
    if work[sizes >= LEAST_LENGTH].sum() < _MOST_WORK * durs.sum():
        return None
    kinds = _kinds(names, first, sizes)
    lag = _period(kinds)
    return None if lag is None else _cuts(first, kinds, lag)


def _period(kinds: NDArray[np.int64]) -> int | None:
    """After how many calls they repeat; None if they do not.

    Many micro-batches of one graph nearly repeat after one call: what repeats exactly, be it later, is the whole step.
    """
    nearly: int | None = None
    for lag in range(1, min(kinds.size // LEAST_PERIODS, _LONGEST) + 1):
        same = kinds[lag:] == kinds[:-lag]
        if np.mean(same) < LEAST_MATCH:
            continue
        # The recording may start or end within a call.
        if same[1:-1].all():
            return lag
        nearly = nearly or lag
    return nearly


def _kinds(names: Names, first: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each call, the same for calls that launched the same kernels in the same order."""
    known: dict[bytes, int] = {}
    pairs = zip(first.tolist(), sizes.tolist(), strict=True)
    return np.array([known.setdefault(names[at : at + size].tobytes(), len(known)) for at, size in pairs], np.int64)


def _cuts(first: NDArray[np.int64], kinds: NDArray[np.int64], lag: int) -> Cuts:
    starts = first[::lag]
    partial = np.zeros(starts.size, np.bool_)
    partial[-1] = bool(kinds.size % lag)
    return Cuts(starts, partial)
