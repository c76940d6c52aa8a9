"""Infer steps in a recording without marks: the period of the sequence of kernel or operator names.

A training or decoding loop launches nearly the same sequence over and over. Its period is the smallest lag at which the
sequence matches itself, with two caveats. Layers repeat inside a step: their lag mismatches outside layers (embedding,
head, optimizer), more often than the step's lag does, or, in a recording of a single pass, at the ends of the sequence.
And two repetitions are not enough evidence: three periods are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times

Names = NDArray[np.int64]

#: Least share of the sequence that matches itself one period later.
LEAST_MATCH: Final = 0.95
LEAST_PERIODS: Final = 3
#: Least number of periods if only a part of the sequence repeats, and its least share of the device's time.
MORE_PERIODS: Final = 5
_MOST_WORK: Final = 0.8
#: Share of names that two halves of a period must have in common to be the same work.
_SAME_WORK: Final = 0.9
#: Shortest period in names; shorter ones are loops over kernels, accepted only in programs without layers.
LEAST_LENGTH: Final = 4
SHORT_LENGTH: Final = 2

#: Length of the windows of names that are compared.
_WINDOW: Final = 6
_CANDIDATES: Final = 48
#: A longer lag is preferred if it leaves less than half of the mismatches (beyond noise).
_NOISE: Final = 0.002
#: Number of names at either end of the sequence that must fit the period,
_EDGE: Final = 2
#: ... and at the end alone, where the part before the first period is left out.
_LONG_EDGE: Final = 8
#: The sequence counts as whole periods if it deviates by at most 1 / this of a period.
_WHOLE: Final = 50
#: A gap is a pause if it is this many times the 90th percentile of gaps.
_PAUSE: Final = 4


@dataclass(frozen=True, slots=True)
class Cuts:
    """Positions in a sequence where steps start.

    Attributes:
        positions: int64[k], ascending; the first is 0.
        partial: bool[k], whether the sequence starts or ends inside the step.
    """

    positions: NDArray[np.int64]
    partial: NDArray[np.bool_]


def find_steps(names: Names, gaps: Times, shortest: int = LEAST_LENGTH) -> Cuts | None:
    """Split a sequence into its periods.

    Args:
        names: int64[n], names as non-negative numbers.
        gaps: int64[n], idle time before each in ns; a step starts after the longest.
        shortest: Least number of names in a period.

    Returns:
        The steps; None if the sequence has no period, or one that may be a layer's.
    """
    lag = find_period(names, shortest)
    if lag is None:
        return None
    phase = _phase(gaps, lag)
    starts = _align(names, lag, phase)
    if not (_fits_at_ends(names, lag) or _pauses(gaps, starts)):
        return None
    positions = np.unique(np.concatenate(([0], starts)))
    length = np.diff(np.append(positions, names.size))
    partial = np.zeros(positions.size, np.bool_)
    partial[0] = starts[0] > 0 or length[0] < lag - lag // _WHOLE
    partial[-1] |= length[-1] < lag - lag // _WHOLE
    return Cuts(positions, partial)


def repeats(names: Names, heavy: NDArray[np.bool_]) -> int:
    """Number of occurrences of the most frequent window of names that holds heavy work; 0 without one.

    Args:
        names: int64[n], names as numbers.
        heavy: bool[n], whether each is work that every layer does, such as a GEMM: a formula may repeat pointwise work.
    """
    if names.size < _WINDOW:
        return 0
    within = np.convolve(heavy, np.ones(_WINDOW, np.int64), "valid") > 0
    found = _window_hashes(names)[within]
    return int(np.unique(found, return_counts=True)[1].max(initial=0))


def periodic_part(names: Names, durs: Times, shortest: int = LEAST_LENGTH) -> slice | None:
    """The part of a sequence that repeats, if it is most of the work; it consists of whole periods.

    Args:
        names: int64[n], names as numbers.
        durs: int64[n], durations in ns.
        shortest: Least number of names in a period.
    """
    longest = names.size // MORE_PERIODS
    for lag in _candidates(names):
        if not shortest <= lag <= longest or np.unique(names[-2 * lag : -lag]).size < 2:
            continue
        low, high = _best_run(names[lag:] == names[:-lag])
        periods = (high - low) // lag + 1
        part = slice(low, low + periods * lag)
        enough = periods >= MORE_PERIODS and durs[part].sum() >= _MOST_WORK * durs.sum()
        if enough and np.unique(names[part][:lag]).size > 1:
            return part
    return None


def after_setup(names: Names, durs: Times, shortest: int = LEAST_LENGTH) -> slice | None:
    """The part of a sequence after setup: what follows the last kernel that only its first part has.

    Weights are created and filled before the first step. The part must be most of the work and end as its periods do,
    unlike a single pass through layers, which has its own first kernels too but ends with a head.

    Args:
        names: int64[n], names as numbers.
        durs: int64[n], durations in ns.
        shortest: Least number of names in a period.
    """
    half = names.size // 2
    own = np.flatnonzero(~np.isin(names[:half], names[half:]))
    if not own.size:
        return None
    part = slice(int(own[-1]) + 1, names.size)
    lag = find_period(names[part], shortest)
    if lag is None or durs[part].sum() < _MOST_WORK * durs.sum():
        return None
    return part if _fits_at_ends(names[part], lag, min(_LONG_EDGE, lag)) else None


def inner_part(names: Names, network: Names, shortest: int = LEAST_LENGTH) -> slice | None:
    """The part of a sequence of operators that repeats, between what comes before a loop and after it.

    Generation begins with the prompt, which takes another path through the same layers; denoising ends with decoding an
    image. The part must hold most operators: the first of each kind may take longer than all others. Layers of a single
    pass repeat too, but before and after them are parts of the network that they lack, such as an embedding and a head.

    Args:
        names: int64[n], names as numbers.
        network: Names of operators that networks consist of.
        shortest: Least number of names in a period.
    """
    for lag in _candidates(names):
        if not shortest <= lag <= names.size // MORE_PERIODS:
            continue
        low, high = _best_run(names[lag:] == names[:-lag])
        periods = (high - low) // lag + 1
        # What comes before a loop may end as its periods do; what comes after it seldom begins as they do.
        part = slice(high + lag - periods * lag, high + lag)
        if periods < MORE_PERIODS or periods * lag < _MOST_WORK * names.size or find_period(names[part]) != lag:
            continue
        before, after = (outer[np.isin(outer, network)] for outer in (names[: part.start], names[part.stop :]))
        if not after.size and np.isin(before, names[part]).all():
            return part
    return None


def halved(names: Names, cuts: Cuts) -> Cuts:
    """Halve periods that do the same work twice in different order, as where directions alternate."""
    edges = np.append(cuts.positions, names.size)
    middles = (edges[:-1] + edges[1:]) // 2
    most = int(names.max(initial=0)) + 1
    for low, middle, high in zip(edges[:-1].tolist(), middles.tolist(), edges[1:].tolist(), strict=True):
        one, other = (np.bincount(names[part], minlength=most) for part in (slice(low, middle), slice(middle, high)))
        if np.abs(one - other).sum() > 2 * (1 - _SAME_WORK) * (high - low) or np.count_nonzero(one) < LEAST_LENGTH:
            return cuts
    return Cuts(np.sort(np.concatenate((cuts.positions, middles))), np.repeat(cuts.partial, 2))


def _best_run(same: NDArray[np.bool_]) -> tuple[int, int]:
    """Start and end of the best run of matches, each mismatch weighed as 1 / (1 - LEAST_MATCH) matches."""
    score = np.cumsum(np.where(same, 1.0, -LEAST_MATCH / (1 - LEAST_MATCH)))
    before = np.minimum.accumulate(np.concatenate(([0.0], score[:-1])))
    high = int((score - before).argmax())
    low = int(np.concatenate(([0.0], score))[: high + 1].argmin())
    return low, high + 1


def find_period(names: Names, shortest: int = LEAST_LENGTH) -> int | None:
    """The smallest lag at which the sequence matches itself about as well as at the best lag, or None."""
    longest = names.size // LEAST_PERIODS
    lags = [lag for lag in _candidates(names) if shortest <= lag <= longest]
    wrong = {lag: float(np.mean(names[lag:] != names[:-lag])) for lag in lags}
    good = sorted(lag for lag, share in wrong.items() if share <= 1 - LEAST_MATCH)
    for position, lag in enumerate(good):
        better = any(2 * wrong[longer] + _NOISE < wrong[lag] for longer in good[position + 1 :])
        if not better:
            return lag if np.unique(names[:lag]).size > 1 else None
    return None


def _candidates(names: Names) -> list[int]:
    """Candidate lags: the most frequent distances between equal windows, and those of the rarest windows.

    The rarest windows that repeat occur once per step; frequent ones may belong to layers.
    """
    if names.size < LEAST_PERIODS * LEAST_LENGTH:
        return []
    hashes = _window_hashes(names)
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    distance = np.diff(order)[same]
    if not distance.size:
        return []
    group = np.cumsum(np.concatenate(([True], ~same)))[1:][same]
    times = np.bincount(group)[group]
    rare = times <= np.quantile(times, 0.1)
    found: list[int] = []
    for some in (distance, distance[rare]):
        lags, number = np.unique(some, return_counts=True)
        found += lags[np.argsort(-number, kind="stable")[:_CANDIDATES]].tolist()
    return sorted(set(found))


def _window_hashes(names: Names) -> NDArray[np.uint64]:
    """Hash of each window of names."""
    # A fixed seed, so that the same recording always gives the same steps.
    weights = np.random.default_rng(0).integers(1, 2**63, int(names.max()) + 1, np.uint64)[names]
    size = names.size - _WINDOW + 1
    hashes = np.zeros(size, np.uint64)
    for offset in range(_WINDOW):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + weights[offset : offset + size]
    return hashes


def _phase(gaps: Times, lag: int) -> int:
    """Position in the period before which the device idles longest, over all periods.

    A sequence of whole periods has phase 0: a profiler set to record some steps records exactly those.
    """
    rest = gaps.size % lag
    if min(rest, lag - rest) <= max(lag // _WHOLE, 1):
        return 0
    idle = np.zeros(lag, np.int64)
    np.add.at(idle, np.arange(1, gaps.size) % lag, np.maximum(gaps[1:], 0))
    return int(idle.argmax())


def _align(names: Names, lag: int, phase: int) -> NDArray[np.int64]:
    """Start of each period: where the usual names at the phase occur, allowing for a few extra or missing names."""
    expected = np.arange(phase, names.size, lag)
    hashes = _window_hashes(names)
    inside = expected[expected < hashes.size]
    values, number = np.unique(hashes[inside], return_counts=True)
    starts = np.flatnonzero(hashes == values[number.argmax()])
    steps = np.diff(starts)
    regular = (np.abs(steps - lag) <= _slack(lag)).all() and starts[0] <= lag + _slack(lag)
    if not regular or names.size - starts[-1] > lag + _slack(lag):
        return expected
    following = int(starts[-1]) + lag
    # The last few names hold no window.
    return np.append(starts, following) if hashes.size <= following < names.size else starts


def _slack(lag: int) -> int:
    """Number of names that a period may have more or less."""
    return lag // 10


def _fits_at_ends(names: Names, lag: int, edge: int = _EDGE) -> bool:
    """Whether the sequence starts and ends inside the periodic part, as a loop does and layers of one pass do not."""
    first = names[:_EDGE] == names[lag : lag + _EDGE]
    last = names[-edge:] == names[-edge - lag : names.size - lag]
    return bool(first.all() and last.all())


def _pauses(gaps: Times, starts: NDArray[np.int64]) -> bool:
    """Whether the device pauses before each period, as between steps and not between layers."""
    inner = starts[starts > 0]
    usual = max(float(np.quantile(gaps[1:], 0.9)), 1.0)
    return inner.size >= LEAST_PERIODS - 1 and float(np.median(gaps[inner])) >= _PAUSE * usual
