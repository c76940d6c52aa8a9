"""Arithmetic on sets of time intervals: union, intersection, difference, coverage.

Everything is int64 nanoseconds and half-open, [start, end). Device activities may overlap, even on one
stream, so time is always measured on unions, never as the difference of neighbouring events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Times = NDArray[np.int64]
_Whole = TypeVar("_Whole", bound=np.integer)

_NONE: Times = np.zeros(0, np.int64)
_NONE.flags.writeable = False


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """A set of instants as disjoint maximal intervals.

    Attributes:
        starts: int64[n], ascending.
        ends: int64[n]; `starts[i] < ends[i] < starts[i + 1]`, so that equal sets have equal arrays.
    """

    starts: Times
    ends: Times

    @classmethod
    def empty(cls) -> Intervals:
        """The set without instants."""
        return cls(_NONE, _NONE)

    @classmethod
    def union_of(cls, starts: ArrayLike, ends: ArrayLike) -> Intervals:
        """The union of any intervals: unsorted, overlapping, touching or empty (`end <= start`)."""
        start, finish = _times(starts), _times(ends)
        real = finish > start
        if not real.all():
            start, finish = start[real], finish[real]
        if not start.size:
            return cls.empty()
        # i starts precede the i-th one. If i ends do too, nothing is open there, whichever end is whose.
        start, finish = _ascending(start), _ascending(finish)
        apart = start[1:] > finish[:-1]
        if apart.all():
            return cls(start, finish)
        return cls(start[np.append(True, apart)], finish[np.append(apart, True)])

    @classmethod
    def union_of_all(cls, sets: Iterable[Intervals]) -> Intervals:
        """The union of any number of sets."""
        parts = [part for part in sets if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.empty()
        return cls.union_of(np.concatenate([p.starts for p in parts]), np.concatenate([p.ends for p in parts]))

    @property
    def total(self) -> int:
        """Nanoseconds covered."""
        return int((self.ends - self.starts).sum())

    def __len__(self) -> int:
        return self.starts.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intervals):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends)

    def __or__(self, other: Intervals) -> Intervals:
        return Intervals.union_of_all((self, other))

    def __and__(self, other: Intervals) -> Intervals:
        few, many = (self, other) if len(self) < len(other) else (other, self)
        first = np.searchsorted(many.ends, few.starts, side="right")
        count = np.searchsorted(many.starts, few.ends, side="left") - first
        mine = np.repeat(np.arange(len(few)), count)
        its = np.arange(mine.size) + np.repeat(first - np.cumsum(count) + count, count)
        # Intervals of a set lie apart, and so do their parts.
        return Intervals(np.maximum(few.starts[mine], many.starts[its]), np.minimum(few.ends[mine], many.ends[its]))

    def __sub__(self, other: Intervals) -> Intervals:
        if not len(self) or not len(other):
            return self
        return self & other.complement(int(self.starts[0]), int(self.ends[-1]))

    def clip(self, lo: int, hi: int) -> Intervals:
        """The part inside [lo, hi)."""
        first = int(np.searchsorted(self.ends, lo, side="right"))
        last = max(int(np.searchsorted(self.starts, hi, side="left")), first)
        if lo >= hi or first == last:
            return Intervals.empty()
        return Intervals(np.maximum(self.starts[first:last], lo), np.minimum(self.ends[first:last], hi))

    def complement(self, lo: int, hi: int) -> Intervals:
        """The part of [lo, hi) that this set does not cover."""
        inside = self.clip(lo, hi)
        starts, ends = np.append(lo, inside.ends), np.append(inside.starts, hi)
        real = slice(int(ends[0] <= lo), starts.size - int(starts[-1] >= hi))  # gaps between intervals are never empty
        return Intervals(starts[real], ends[real])

    def within(self, starts: ArrayLike, ends: ArrayLike) -> Times:
        """Nanoseconds covered in each of n windows, int64[n]; windows may overlap, and may be empty."""
        start = _times(starts)
        return self._before(np.maximum(_times(ends), start)) - self._before(start)

    def at(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Whether each instant is covered, bool[n]."""
        points = _times(points)
        interval = np.searchsorted(self.starts, points, side="right") - 1
        if not len(self):
            return np.zeros(points.size, np.bool_)
        covered: NDArray[np.bool_] = (interval >= 0) & (points < self.ends[np.maximum(interval, 0)])
        return covered

    def _before(self, points: Times) -> Times:
        """Nanoseconds covered before each instant."""
        interval = np.searchsorted(self.starts, points, side="right")
        covered = np.concatenate(([0], np.cumsum(self.ends - self.starts)))[interval]
        ends = np.concatenate(([np.iinfo(np.int64).min], self.ends))[interval]
        past: Times = covered - np.where(ends > points, ends - points, 0)
        return past


def distinct(values: NDArray[_Whole]) -> NDArray[_Whole]:
    """Sorted unique values; sorts, where `np.unique` would build a slow hash table of many distinct values."""
    ordered = np.sort(values)
    return ordered.compress(np.append(True, ordered[1:] != ordered[:-1])) if ordered.size else ordered


def ascending(values: NDArray[_Whole]) -> NDArray[np.int64]:
    """Stable argsort; fast where the range of values is small or they are sorted already."""
    if (values[1:] >= values[:-1]).all():
        return np.arange(values.size)
    few = values.min() >= 0 and values.max() <= np.iinfo(np.int16).max
    return np.argsort(values.astype(np.int16) if few else values, kind="stable")  # 16 bits sort by radix


def ordered(first: NDArray[Any], *others: NDArray[Any]) -> NDArray[np.int64]:
    """Stable order by the first of some keys, of equal ones by the second, and so on; quick where few are equal.

    Args:
        first: Of n items.
        others: Of the same items.
    """
    order = ascending(first)
    again = first[order[1:]] == first[order[:-1]]
    if again.any():
        tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
        members = order[tied]
        order[tied] = members[np.lexsort((*(key[members] for key in reversed(others)), first[members]))]
    return order


def _ascending(values: Times) -> Times:
    """Sorted values; checks first whether they are sorted already, as they often are."""
    return values if (values[1:] >= values[:-1]).all() else np.sort(values)


def _times(values: ArrayLike) -> Times:
    return np.asarray(values, dtype=np.int64).reshape(-1)
