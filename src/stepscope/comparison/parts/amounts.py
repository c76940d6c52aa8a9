"""Sums of both sides by key, as rows of means per step whose sum is that of all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import NormalDist
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.noise.ratio import ASSUMED_DRIFT, ASSUMED_SPREAD, CONFIDENCE
from stepscope.comparison.noise.shift import half_widths
from stepscope.comparison.parts.shares import means
from stepscope.model.schema import Column, flag, ns

K = TypeVar("K", bound=Hashable)
#: How many times as much as kernels waits, transfers and idle times vary from one step to another: of steps of one
#: recording, held against each other one by one, these differ by half more often than kernels by a tenth.
OF_WAITS: Final = 3.0


class StepCounts(NamedTuple):
    """What sums of both sides are divided by, and how sure an interval is.

    Attributes:
        base: Steps times devices of the base.
        new: The same of the new side.
        devices: Devices of either side.
        confidence: Chance that an interval holds the true difference.
    """

    base: int
    new: int
    devices: tuple[int, int] = (1, 1)
    confidence: float = CONFIDENCE


@dataclass(frozen=True, slots=True)
class Amount:
    """What a side has of something, over all of its steps and devices.

    Attributes:
        ns: Time.
        count: How often; a part of a call where that is of another amount of work.
        squares: Sum of the squares of the single times, by which a sum is judged where there is one step.
        by_batch: float64[b], mean per step in each batch of steps, all devices together; None where that is not known.
    """

    ns: int = 0
    count: float = 0
    squares: float = field(default=0.0, compare=False)
    by_batch: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)

    def __add__(self, other: Amount) -> Amount:
        batches = [one for one in (self.by_batch, other.by_batch) if one is not None]
        together = batches[0] + batches[1] if len(batches) > 1 else batches[0] if batches else None
        return Amount(self.ns + other.ns, self.count + other.count, self.squares + other.squares, together)

    def scaled(self, factor: float) -> Amount:
        """So many times as much of it, known no better as a share."""
        by_batch = None if self.by_batch is None else self.by_batch * factor
        return Amount(round(self.ns * factor), self.count * factor, self.squares * factor**2, by_batch)


def certainty(base: Amount, new: Amount, counts: StepCounts) -> float | None:
    """Half of the interval of the difference per step and device; None where nothing tells how much it varies.

    It rests on the spread between batches of steps; with one step on each side on that of single calls, which are taken
    to vary by `ASSUMED_SPREAD`, each for itself, and by `ASSUMED_DRIFT` together.
    """
    return certainties([(base, new)], counts)[0]


def certainties(pairs: Sequence[tuple[Amount, Amount]], counts: StepCounts) -> list[float | None]:
    """The `certainty` of each pair."""
    found: list[float | None] = [None] * len(pairs)
    alike: dict[tuple[int, int], list[tuple[int, NDArray[np.float64], NDArray[np.float64]]]] = {}
    for i, (base, new) in enumerate(pairs):
        sides = _values(base, new), _values(new, base)
        if sides[0] is not None and sides[1] is not None:
            alike.setdefault((sides[0].size, sides[1].size), []).append((i, sides[0], sides[1]))
    for (first, second), rows in alike.items():
        if first + second > 2 and min(first, second):
            halves = half_widths(
                np.array([base for _, base, _ in rows]) / counts.devices[0],
                np.array([new for _, _, new in rows]) / counts.devices[1],
                counts.confidence,
            ).tolist()
        else:
            halves = [_by_call(*pairs[i], counts) for i, _, _ in rows]
        for (i, _, _), half in zip(rows, halves, strict=True):
            found[i] = half
    return found


def _values(one: Amount, other: Amount) -> NDArray[np.float64] | None:
    """By batch; what a side has none of is 0 in each of its steps. None where that is not known."""
    if one.by_batch is None and (one.ns or one.count or other.by_batch is None):
        return None
    return one.by_batch if one.by_batch is not None else np.zeros(2)


def _by_call(base: Amount, new: Amount, counts: StepCounts) -> float:
    sides = ((base, counts.base), (new, counts.new))
    apart = sum((ASSUMED_SPREAD**2 * one.squares + (ASSUMED_DRIFT * one.ns) ** 2) / times**2 for one, times in sides)
    return NormalDist().inv_cdf((1 + counts.confidence) / 2) * sqrt(apart)


@dataclass(frozen=True, slots=True)
class Beside(Generic[K]):
    """A row: a key with what both sides have of it, per step.

    Attributes:
        key: What it is.
        base_ns: Mean time per step; all rows' together are the mean of the whole.
        new_ns: The same of the new side.
        base_count: Mean number per step.
        new_count: The same of the new side.
        half: Half of the interval of the difference; None where nothing tells how much it varies.
    """

    key: K
    base_ns: int
    new_ns: int
    base_count: float
    new_count: float
    half: float | None = None

    @property
    def sure(self) -> bool | None:
        """Whether the interval of the difference excludes 0; None where there is no interval."""
        return None if self.half is None else abs(self.diff_ns) > self.half

    @property
    def interval(self) -> tuple[Any, ...]:
        """The values of `CERTAIN`."""
        if self.half is None:
            return None, None, None
        return round(self.diff_ns - self.half), round(self.diff_ns + self.half), self.sure

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
#: Columns that say how certain a difference of times is.
CERTAIN: Final = (
    Column("low_ns", "int64", "Lower end of the interval of diff_ns; null where nothing tells how it varies.", "ns",
           True, signed=True),
    Column("high_ns", "int64", "Upper end.", "ns", True, signed=True),
    flag("sure", "Whether the interval excludes 0; null where there is none.", nullable=True),
)  # fmt: skip
#: The same of bytes.
CERTAIN_BYTES: Final = (
    Column("low_bytes", "int64", "Lower end of the interval of diff_bytes; null where nothing tells how it varies.",
           "bytes", True, signed=True),
    Column("high_bytes", "int64", "Upper end.", "bytes", True, signed=True),
    CERTAIN[2],
)  # fmt: skip


def beside(base: Mapping[K, Amount], new: Mapping[K, Amount], times: StepCounts | tuple[int, int]) -> list[Beside[K]]:
    """A row per key of either side, those that differ most first.

    Args:
        base: Amounts of the base.
        new: Amounts of the new side.
        times: Steps times devices of either side, which sums are divided by.
    """
    counts = times if isinstance(times, StepCounts) else StepCounts(*times)
    # Which sums are rounded up depends on the order, and a database gives groups in any.
    keys = sorted({*base, *new}, key=str)
    none = Amount()
    left, right = [base.get(key, none) for key in keys], [new.get(key, none) for key in keys]
    halves = certainties([*zip(left, right, strict=True)], counts)
    rows = [
        Beside(key, first, second, a.count / times[0], b.count / times[1], half)
        for key, first, second, a, b, half in zip(
            keys, means([a.ns for a in left], times[0]), means([b.ns for b in right], times[1]), left, right, halves,
            strict=True,
        )
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-abs(row.diff_ns), -row.new_ns, str(row.key)))
