"""Sums of both sides by key, as rows of means per step whose sum is that of all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stepscope.comparison.parts.shares import means
from stepscope.model.schema import Column, ns

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Amount:
    """What a side has of something, over all of its steps and devices.

    Attributes:
        ns: Time.
        count: How often.
    """

    ns: int = 0
    count: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.ns + other.ns, self.count + other.count)


@dataclass(frozen=True, slots=True)
class Beside(Generic[K]):
    """A row: a key with what both sides have of it, per step.

    Attributes:
        key: What it is.
        base_ns: Mean time per step; all rows' together are the mean of the whole.
        new_ns: The same of the new side.
        base_count: Mean number per step.
        new_count: The same of the new side.
    """

    key: K
    base_ns: int
    new_ns: int
    base_count: float
    new_count: float

    @property
    def diff_ns(self) -> int:
        """New minus base."""
        return self.new_ns - self.base_ns

    @property
    def ratio(self) -> float | None:
        """New over base; None where base is 0."""
        return self.new_ns / self.base_ns if self.base_ns else None

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of `BESIDE`."""
        return (self.base_ns, self.new_ns, self.diff_ns, self.ratio, self.base_count, self.new_count)


#: Columns of every table of times beside each other.
BESIDE = (
    ns("base_ns", "Time per step of the base; 0 where it has none."),
    ns("new_ns", "Time per step of the new one; 0 where it has none."),
    ns("diff_ns", "new_ns - base_ns.", signed=True),
    Column("ratio", "float64", "new_ns / base_ns; null where base_ns is 0.", "", True),
    Column("base_count", "float64", "How many per step of the base.", "count"),
    Column("new_count", "float64", "How many per step of the new one.", "count"),
)


def beside(base: Mapping[K, Amount], new: Mapping[K, Amount], times: tuple[int, int]) -> list[Beside[K]]:
    """A row per key of either side, those that differ most first.

    Args:
        base: Amounts of the base.
        new: Amounts of the new side.
        times: Steps times devices of either side, which sums are divided by.
    """
    # Which sums are rounded up depends on the order, and a database gives groups in any.
    keys = sorted({*base, *new}, key=str)
    none = Amount()
    left, right = [base.get(key, none) for key in keys], [new.get(key, none) for key in keys]
    rows = [
        Beside(key, first, second, a.count / times[0], b.count / times[1])
        for key, first, second, a, b in zip(
            keys, means([a.ns for a in left], times[0]), means([b.ns for b in right], times[1]), left, right,
            strict=True,
        )
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-abs(row.diff_ns), -row.new_ns, str(row.key)))
