"""Columns that say by which factor two means differ, and how certain that is."""

from __future__ import annotations

from typing import Any

from stepscope.comparison.noise.ratio import RatioInterval
from stepscope.model.schema import Column, flag


def ratio_columns(base: str, new: str, spread: str) -> tuple[Column, ...]:
    """Columns `ratio`, `low`, `high` and `sure`.

    Args:
        base: Column of the base's mean.
        new: Column of the new side's.
        spread: What the interval rests on the spread of.
    """
    return (
        Column("ratio", "float64", f"{new} / {base}; null where either is null or 0.", "", True),
        Column("low", "float64", f"Lower end of the interval of ratio, from the spread {spread}.", "", True),
        Column("high", "float64", "Upper end; null where it is open, or low is null.", "", True),
        flag("sure", "Whether the interval excludes 1; null where there is none.", nullable=True),
    )


def ratio_values(found: RatioInterval | None) -> tuple[Any, ...]:
    """The values of these columns."""
    return (None,) * 4 if found is None else (found.ratio, found.low, found.most, found.sure)
