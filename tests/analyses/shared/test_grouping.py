"""Sums by group against plain Python."""

from __future__ import annotations

import statistics

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analyses.shared.grouping import Groups, shares

ROWS = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2), st.integers(0, 50), st.integers(0, 20)), min_size=1)


@given(ROWS)
def test_groups_of_two_keys(rows: list[tuple[int, int, int, int]]) -> None:
    one, two, dur, _ = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    groups = Groups.by(one, two)
    summary = groups.summary(dur)
    expected: dict[tuple[int, int], list[int]] = {}
    for a, b, d, _ in sorted(rows, key=lambda row: row[:2]):
        expected.setdefault((a, b), []).append(d)
    assert list(zip(one[groups.first].tolist(), two[groups.first].tolist(), strict=True)) == list(expected)
    for number, values in enumerate(expected.values()):
        found = {name: column[number] for name, column in summary.items()}
        assert found == {
            "count": len(values), "total_ns": sum(values), "mean_ns": sum(values) // len(values),
            "median_ns": statistics.median_low(values), "min_ns": min(values), "max_ns": max(values),
        }  # fmt: skip


@given(ROWS)
def test_union_per_group(rows: list[tuple[int, int, int, int]]) -> None:
    key, _, ts, dur = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    groups = Groups.by(key)
    found = groups.union(ts, ts + dur, groups.index)
    for number, value in enumerate(np.unique(key).tolist()):
        instants = {t for k, _, start, length in rows if k == value for t in range(start, start + length)}
        assert found[number] == len(instants)


def test_union_holds_for_times_of_many_days_and_many_groups() -> None:
    key = np.arange(1000)
    ts = np.full(1000, 6 * 10**17)
    groups = Groups.by(key)
    assert groups.union(ts, ts + 5, groups.index).tolist() == [5] * 1000


def test_shares_of_nothing_are_0() -> None:
    assert shares(np.array([0, 0]), 0).tolist() == [0.0, 0.0]


def test_least_and_most_of_each_group() -> None:
    groups = Groups.by(np.array([4, 2, 4, 2, 7]))
    values = np.array([5, -1, 3, 8, 6])
    assert dict(zip(groups.least(values).tolist(), groups.most(values).tolist(), strict=True)) == {-1: 8, 3: 5, 6: 6}
