"""Means of parts in whole nanoseconds that still add up to the mean of their sum."""

from __future__ import annotations

from collections.abc import Sequence


def means(sums: Sequence[int], times: int) -> list[int]:
    """Each sum divided by `times`, in whole numbers that add up to the sum of all divided by it, rounded down.

    What is left of a division counts for the next part, so that no mean is off by 1 or more.
    """
    found: list[int] = []
    before = reached = 0
    for one in sums:
        reached += one
        found.append(reached // times - before)
        before = reached // times
    return found
