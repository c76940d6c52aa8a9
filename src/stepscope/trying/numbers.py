"""Whether a remedy left the numbers of a program as they are: losses, gradient norms and results of its first steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Final

from stepscope.trying.remedy import LOSS_TOLERANCE, NORM_TOLERANCE, Numbers
from stepscope.trying.runs import RunResult

#: Numbers below this share of the largest of their kind are compared as if they were as large.
_FLOOR: Final = 0.01
#: Runs of the unchanged program that differ by more from each other tell nothing of a remedy.
_REPRODUCIBLE: Final = 0.05
#: So many times the difference of unchanged runs is none of the remedy's.
_TIMES: Final = 3.0
_LEVELS: Final[tuple[Numbers, ...]] = ("exact", "random", "rounding", "precision")


@dataclass(frozen=True, slots=True)
class NumbersVerdict:
    """What became of the numbers.

    Attributes:
        same: Whether they stayed the same; None if there is nothing to compare.
        loss: Largest difference of losses, as a share; None without losses.
        norm: Largest difference of gradient norms, as a share; None without updates.
        output: Largest difference of what models return, as a share, in programs without losses.
        loss_tolerance: By how much losses and results may differ.
        norm_tolerance: By how much norms may differ.
        noise: By how much runs of the unchanged program differ.
        compared: How many numbers were compared.
    """

    same: bool | None
    loss: float | None = None
    norm: float | None = None
    output: float | None = None
    loss_tolerance: float = 0.0
    norm_tolerance: float = 0.0
    noise: float = 0.0
    compared: int = 0


def compared(base: Sequence[RunResult], new: Sequence[RunResult], kinds: Sequence[Numbers]) -> NumbersVerdict:
    """Hold the numbers of runs with remedies against those of the unchanged program.

    Args:
        base: Runs of the unchanged program, at least one; those that were cut have no numbers.
        new: Runs with the remedies, at least one.
        kinds: What each remedy may do to numbers.
    """
    kind = max(kinds, key=_LEVELS.index)
    loss_noise = _apart([one.losses for one in base[1:]], base[0].losses)
    norm_noise = _apart([one.norms for one in base[1:]], base[0].norms)
    output_noise = _apart([one.outputs for one in base[1:]], base[0].outputs)
    loss = _apart([one.losses for one in new], base[0].losses)
    norm = _apart([one.norms for one in new], base[0].norms)
    output = _apart([one.outputs for one in new], base[0].outputs)
    noise = max(loss_noise or 0.0, norm_noise or 0.0, output_noise or 0.0)
    loss_most = max(LOSS_TOLERANCE[kind], _TIMES * max(loss_noise or 0.0, output_noise or 0.0))
    norm_most = max(NORM_TOLERANCE[kind], _TIMES * (norm_noise or 0.0))
    held = [(loss, loss_most), (norm, norm_most), (output, loss_most)]
    known = [(apart, most) for apart, most in held if apart is not None]
    count = sum(len(one) for one in ([*base[0].losses, *base[0].norms] if loss is not None else base[0].outputs))
    # Fewer digits would hide in numbers that differ from run to run; what only moves or rounds them can't be more.
    tells = bool(known) and (noise <= _REPRODUCIBLE or kind != "precision")
    same = all(apart <= most for apart, most in known) if tells else None
    return NumbersVerdict(same, loss, norm, output, loss_most, norm_most, noise, count)


def _apart(runs: Sequence[list[list[float]]], base: list[list[float]]) -> float | None:
    """The largest difference of runs from the base, as a share; None if either has no numbers."""
    found = [
        apart
        for run in runs
        for mine, other in zip(run, base, strict=False)
        if (apart := _of_rank(mine, other)) is not None
    ]
    return max(found, default=None)


def _of_rank(new: Sequence[float], base: Sequence[float]) -> float | None:
    if not new or not base:
        return None
    floor = _FLOOR * max((abs(one) for one in base if isfinite(one)), default=0.0)
    return max(_share(a, b, floor) for a, b in zip(new, base, strict=False))


def _share(new: float, base: float, floor: float) -> float:
    if (isnan(new) and isnan(base)) or new == base:
        return 0.0
    if not (isfinite(new) and isfinite(base)):
        return float("inf")
    return abs(new - base) / max(abs(new), abs(base), floor)
