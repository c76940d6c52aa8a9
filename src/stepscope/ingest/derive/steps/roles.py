"""Decide which steps are typical, with a reason for each other one.

All figures per step are about typical steps. First steps load, compile and allocate; the last one may hold the
profiler's stop; a single step may hold a checkpoint or a hiccup of the machine. Recurring deviations belong to the job:
every fourth step that ends with the optimizer is as typical as the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.language import said
from stepscope.model.amounts import duration
from stepscope.model.intervals import Times

#: A step is unlike the others if its length differs from their median by more than this share of it,
_UNLIKE: Final = 0.25
#: ... and by more than this multiple of the others' typical deviation, since steps of a job may alternate.
_SPREADS: Final = 4
#: Most outliers between the first and last step, as a share of all steps (at least one); more belong to the job.
_RARE: Final = 0.15
#: Where the first step, the last and one between them are outliers and differ from each other by no more than this, the
#: length recurs: two loader workers that are too slow make every other step wait for the same time.
_SAME: Final = 0.05
#: The same of fewer of them that are so many times as long as the others, within `_UNLIKE`.
_FAR: Final = 2
#: Among deviations that recur, those of at most that share of the steps are something else if they are so many times as
#: large as all others: one token that waits for a log file, where lengths of the others vary.
_BEYOND: Final = 5
#: Least number of remaining steps to compare others with.
_FEWEST: Final = 2
#: Least number of steps between the first and the last to judge these two by.
_INNER: Final = 3
#: Of two steps the first is warm-up only if it is this many times as long.
_WARMING_UP: Final = 2


@dataclass(frozen=True, slots=True)
class Roles:
    """Roles of n steps.

    Attributes:
        role: `typical`, `partial`, `warm-up`, `edge`, `outlier` or `window`.
        reason: Why it is not typical; None if it is.
    """

    role: list[str]
    reason: list[str | None]

    @property
    def typical(self) -> list[bool]:
        """Whether each step is typical."""
        return [reason is None for reason in self.reason]


def roles_of(length: Times, host: Times, partial: NDArray[np.bool_], source: str) -> Roles:
    """Assign a role to each step.

    Args:
        length: int64[n], length on the devices in ns.
        host: int64[n], length on the host in ns.
        partial: bool[n], whether the recording starts or ends inside it.
        source: Where the steps come from, as in `steps`: `whole` is no step, and of requests each is as good as any.
    """
    if source == "whole":
        return Roles(["window"] * length.size, [None] * length.size)
    if source == "requests":
        text = said("the recording starts or ends within it")
        return Roles(
            [("partial" if cut else "typical") for cut in partial], [(text if cut else None) for cut in partial]
        )
    # Without complete steps the most complete ones are used.
    complete = np.flatnonzero(~partial & (length > 0)) if (~partial & (length > 0)).any() else np.arange(length.size)
    role = ["typical"] * length.size
    reason: list[str | None] = [None] * length.size
    for step in np.setdiff1d(np.arange(length.size), complete).tolist():
        role[step], reason[step] = "partial", said("the recording starts or ends within it")
    first, last = int(complete[0]), int(complete[-1])
    for step in _unlike(length[complete], complete):
        longer = length[step] > _others(length, complete, step)
        role[step] = "warm-up" if step == first and longer else "edge" if step in (first, last) else "outlier"
        reason[step] = _compared(length, complete, step, "")
    # The profiler's start waits for earlier work, its stop follows the last work: only host times show them.
    for step in _unlike(host[complete], complete):
        if step in (first, last) and role[step] == "typical" and host[step] > _others(host, complete, step):
            role[step], reason[step] = "edge", _compared(host, complete, step, " on the host")
    for step in _warm_up(length[complete], complete):
        role[step], reason[step] = "warm-up", _compared(length, complete[complete >= step], step, "")
    return Roles(role, reason)


def _others(length: Times, complete: NDArray[np.int64], step: int) -> float:
    """Median length of the other steps in ns."""
    return float(np.median(length[complete[complete != step]]))


def _compared(length: Times, complete: NDArray[np.int64], step: int, where: str) -> str:
    usual = duration(round(_others(length, complete, step)))
    return said(
        "{length}{where} where the others take {usual}", length=duration(int(length[step])), where=where, usual=usual
    )


def _unlike(length: Times, step: NDArray[np.int64]) -> list[int]:
    """Steps whose length differs strongly from the others, unless they are too many to be outliers."""
    if step.size <= _FEWEST:
        return []
    # The first and the last may both be unlike the others.
    sure = length[1:-1] if step.size >= _INNER + 2 else length
    usual = float(np.median(sure))
    off = np.abs(length - usual)
    spread = float(np.median(np.abs(sure - usual)))
    unlike = off > max(_UNLIKE * usual, _SPREADS * spread)
    inner = unlike[1:-1]
    most = max(1, int(_RARE * step.size))
    if np.count_nonzero(inner) > most:
        # Nor are the first and the last one outliers if they are like these.
        recurring = _recurring(off[1:-1][inner], most)
        unlike &= (off < recurring.min()) | (off > (1 + _UNLIKE) * recurring.max())
        unlike[1:-1] = off[1:-1] >= _BEYOND * recurring.max()
    elif inner.any():
        recurs = unlike[0] and unlike[-1] and length[unlike].max() <= (1 + _SAME) * length[unlike].min()
        if recurs or ((unlike[0] or unlike[-1]) and _prevail(length, unlike)):
            return []
    return [] if step.size - np.count_nonzero(unlike) < _FEWEST else step[unlike].tolist()


def _recurring(off: Times, most: int) -> Times:
    """The deviations without the largest, at most so many, that are far beyond all others."""
    ascending = np.sort(off)
    for number in range(1, min(most, off.size - 1) + 1):
        kept = ascending[:-number]
        if ascending[-number] >= _BEYOND * kept[-1]:
            return kept
    return off


def _prevail(length: Times, unlike: NDArray[np.bool_]) -> bool:
    """Whether steps far longer than the others are alike and hold most of the time, so that they are the rule.

    Loader workers that are too slow make every fourth of eight steps wait, of which one is the first.
    """
    long, others = length[unlike], length[~unlike]
    if not others.size:  # steps without any length are not far from one
        return False
    alike = long.max() <= (1 + _UNLIKE) * long.min()
    return bool(alike and long.min() >= _FAR * np.median(others) and long.sum() > others.sum())


def _warm_up(length: Times, step: NDArray[np.int64]) -> list[int]:
    """The leading steps that are much longer than all later ones."""
    found = []
    for position in range(step.size - 1):
        later = length[position + 1 :]
        usual = float(np.median(later))
        least = _WARMING_UP if later.size < _FEWEST else 1 + _UNLIKE
        spread = float(np.median(np.abs(later - usual)))
        far = length[position:] >= _FAR * usual
        if far[1:].any() and _prevail(length[position:], far):
            break
        if length[position] <= max(least * usual, usual + _SPREADS * spread):
            break
        found.append(int(step[position]))
    return found
