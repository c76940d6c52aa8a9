"""Errors of predictions, also calibrated by one row of a series, and how well their order is right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from statistics import median

from bench.plan.rows import Row


def by_series(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by source and what else makes a series: the same machine and software."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[name_of(row)].append(row)
    return dict(found)


def name_of(row: Row) -> str:
    """The series of a row."""
    if row.row.get("series"):
        return str(row.row["series"])
    short = row.source.split(",")[0].split("(")[0].strip()
    if row.row.get("zero") == 3 and "2104.04473" in row.source:
        return f"{short}, ZeRO-3"
    if "2104.04473" in row.source:
        return f"{short}, {'one model' if '174.6' in row.model else 'models'}"
    if "llama3_h100" in row.source:
        return f"torchtitan H100, {row.model.split()[-1]}"
    if "performance.md" in row.source:
        return "torchtitan A100"
    return short


def calibrated(rows: Sequence[Row]) -> list[float]:
    """Errors of all other rows when the prediction is scaled by one row's, for each row of the series."""
    timed = [row for row in rows if row.step_s]
    found = []
    for one in timed:
        factor = one.step_s / (one.plan.step_ns / 1e9)  # type: ignore[operator]
        for other in timed:
            if other is not one:
                found.append(abs(factor * other.plan.step_ns / 1e9 / other.step_s - 1))  # type: ignore[operator]
    return found


def tau(rows: Sequence[Row]) -> float | None:
    """Kendall's tau of time per token: pairs in the right order less pairs in the wrong one, over all.

    Pairs whose measured times differ by less than 1 % are alike, and left out.
    """
    timed = [(row.step_s / tokens(row), row.plan.step_ns / tokens(row)) for row in rows if row.step_s]
    score = number = 0
    for (a, x), (b, y) in combinations(timed, 2):
        if abs(a / b - 1) < 0.01:
            continue
        number += 1
        score += 1 if (a < b) == (x < y) else -1
    return score / number if number else None


def tokens(row: Row) -> int:
    """Tokens per device of a step: what makes rows with other batches comparable."""
    return row.row["global_batch"] * row.row["seq"] // row.row["devices"]


def middle(values: Sequence[float]) -> float | None:
    """The median of absolute values, or None."""
    return median(map(abs, values)) if values else None
