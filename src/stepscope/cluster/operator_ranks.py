"""The same operator on all ranks: its time, its variance, and how the ranks are spread."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from stepscope.cluster.operator_part import OperatorPart
from stepscope.model.schema import Column, TableSchema, count, ns, number, text
from stepscope.model.table import Table

OPERATOR_RANKS: Final = TableSchema(
    "operator_ranks",
    "Compute kernels by name over all ranks, the longest in sum first. The first columns are of single runs, whatever "
    "their rank; those from `low_ns` to `high_ns` draw a box of the ranks' mean durations.",
    (
        text("name", "Kernel or operator of the device's library, as recorded."),
        count("ranks", "Ranks that ran it."),
        count("count", "Times it ran."),
        ns("total_ns", "Sum of the durations."),
        ns("mean_ns", "Mean duration."),
        number("variance", "Sample variance of the durations, ns²; null if it ran once.", nullable=True),
        ns("min_ns", "Shortest."),
        ns("max_ns", "Longest."),
        ns("range_ns", "max_ns - min_ns."),
        ns("low_ns", "Mean duration on the rank on which it is shortest."),
        ns("q1_ns", "First quartile of the ranks' means, interpolated and rounded down."),
        ns("median_ns", "Median of the ranks' means, likewise."),
        ns("q3_ns", "Third quartile, likewise."),
        ns("high_ns", "Mean duration on the rank on which it is longest."),
        Column("slowest_rank", "int32", "That rank; the lowest of several."),
        number("slowest_ratio", "high_ns / median_ns; null if that is 0.", nullable=True),
        count("by_time", "Place by total_ns, from 1 on."),
        count("by_variance", "Place by variance."),
    ),
)  # fmt: skip


@dataclass(slots=True)
class OperatorSum:
    """One name, over the ranks added so far; of each rank two numbers are kept."""

    count: int = 0
    total: int = 0
    squares: float = 0.0
    least: int = np.iinfo(np.int64).max
    most: int = 0
    ranks: array[int] = field(default_factory=lambda: array("i"))
    means: array[int] = field(default_factory=lambda: array("q"))

    def add(self, rank: int, count: int, total: int, squares: float, least: int, most: int) -> None:
        """Add a rank's runs.

        Sums of squared deviations are merged as by Chan, Golub and LeVeque, "Updating Formulae and a Pairwise
        Algorithm for Computing Sample Variances", 1979.
        """
        if self.count:
            apart = total / count - self.total / self.count
            squares += apart**2 * self.count * count / (self.count + count)
        self.squares += squares
        self.count += count
        self.total += total
        self.least, self.most = min(self.least, least), max(self.most, most)
        self.ranks.append(rank)
        self.means.append(total // count)


@dataclass(slots=True)
class OperatorSums:
    """Sums of operators by name."""

    by_name: dict[str, OperatorSum] = field(default_factory=dict)

    def add(self, rank: int, part: OperatorPart) -> None:
        """Add a rank's operators."""
        columns = (part.count, part.total, part.squares, part.least, part.most)
        for name, *values in zip(part.names, *(column.tolist() for column in columns), strict=True):
            self.by_name.setdefault(name, OperatorSum()).add(rank, *values)

    def table(self) -> Table:
        """The operators, the longest in sum first."""
        order = sorted(self.by_name, key=lambda name: (-self.by_name[name].total, name))
        variances = {name: one.squares / (one.count - 1) for name in order if (one := self.by_name[name]).count > 1}
        places = {name: at for at, name in enumerate(sorted(order, key=lambda name: -variances.get(name, 0.0)), 1)}
        return Table.from_rows(
            OPERATOR_RANKS,
            ((name, *_row(self.by_name[name], variances.get(name)), at, places[name])
             for at, name in enumerate(order, 1)),
        )  # fmt: skip


def _row(one: OperatorSum, variance: float | None) -> tuple[object, ...]:
    means = np.array(one.means)
    q1, middle, q3 = (int(value) for value in np.quantile(means, (0.25, 0.5, 0.75)))
    high = int(means.max())
    slowest = min(rank for rank, mean in zip(one.ranks, one.means, strict=True) if mean == high)
    return (
        len(one.ranks), one.count, one.total, one.total // one.count, variance, one.least, one.most,
        one.most - one.least, int(means.min()), q1, middle, q3, high, slowest, high / middle if middle else None,
    )  # fmt: skip
