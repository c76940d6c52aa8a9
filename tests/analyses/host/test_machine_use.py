from __future__ import annotations

import pytest

from machine_support import SECOND, add_samples
from stepscope.analyses.host.machine_use import machine_use
from stepscope.model.errors import MissingInputError
from support import Facts

BUSY = ("processors", "busy", "cores")


def used(facts: Facts) -> list[tuple[object, ...]]:
    columns = ("subject", "series", "unit", "count", "mean", "median", "min", "max", "profiled")
    return [tuple(row[name] for name in columns) for row in machine_use(facts.trace()).records()]


def two_seconds() -> Facts:
    facts = Facts()
    facts.step(0, 0, SECOND)
    facts.step(1, SECOND, SECOND)
    return facts


def test_samples_after_the_recording_are_preferred() -> None:
    facts = two_seconds()
    # Before, within, across its end, five after, the end of the program, and what is much later.
    busy = [9, 5, 5, 7, 1, 1, 1, 2, 5, 8, 9]
    add_samples(facts, {BUSY: busy}, at=[-1, 0.2, 1, 1.9, 3, 4, 5, 6, 7, 8, 200], recording=[1, 2, 3])
    assert used(facts) == [("processors", "busy", "cores", 5, 2.0, 1.0, 1.0, 5.0, False)]


def test_with_too_few_of_these_the_recorded_time_counts() -> None:
    facts = two_seconds()
    add_samples(facts, {BUSY: [4, 5, 6, 0, 0]}, at=[0.1, 0.5, 1, 1.9, 3], recording=[0, 1, 2, 3])
    assert used(facts) == [("processors", "busy", "cores", 3, 5.0, 5.0, 4.0, 6.0, True)]


@pytest.mark.parametrize(("workers", "count", "mean"), [([2] * 9 + [0] * 4, 6, 1.0), ([0] * 13, 8, 22 / 8)])
def test_what_comes_after_the_loader_workers_is_no_loop(workers: list[float], count: int, mean: float) -> None:
    facts = two_seconds()
    busy = [5, 5, 5, 1, 1, 1, 1, 1, 1, 8, 8, 8, 8]
    at = [0.2, 0.6, 1, *range(3, 13)]
    add_samples(facts, {BUSY: busy, ("job", "loader workers", "count"): workers}, at=at, recording=[0, 1, 2])
    [found] = [row for row in used(facts) if row[0] == "processors"]
    assert found[3:5] == (count, pytest.approx(mean))


def test_too_few_samples_or_none_make_no_table() -> None:
    facts = two_seconds()
    add_samples(facts, {BUSY: 1}, at=[0.1, 0.5, 1.5], recording=[0, 1, 2])
    for one in (facts, two_seconds()):
        with pytest.raises(MissingInputError):
            used(one)
