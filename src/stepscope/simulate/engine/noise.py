"""Repeatable disturbance of times: a short table of factors that is walked through again and again."""

from __future__ import annotations

from random import Random

LENGTH = 4096
ONE = 1024


def factors(seed: int, spread: float, scale: float = 1.0) -> list[int]:
    """Factors in units of 1/1024 with relative deviation ``spread``; their number is a power of two.

    Log-normal, so that no time becomes negative and long ones are rarer than short ones.
    """
    base = int(scale * ONE)
    if not spread:
        return [base]
    rng = Random(seed)
    return [max(1, int(base * rng.lognormvariate(0.0, spread))) for _ in range(LENGTH)]
