"""Intervals of the ratio of step times."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepscope.comparison.noise.rates import rate_ratio
from stepscope.comparison.noise.ratio import ratio_interval
from stepscope.comparison.noise.student import quantile

#: From tables of Student's distribution.
TABLE = [
    (1, 0.975, 12.706),
    (1, 0.995, 63.657),
    (2, 0.995, 9.925),
    (4, 0.995, 4.604),
    (5, 0.975, 2.571),
    (9, 0.995, 3.250),
]


@pytest.mark.parametrize(("freedom", "probability", "expected"), TABLE)
def test_quantiles_of_student(freedom: int, probability: float, expected: float) -> None:
    assert quantile(probability, freedom) == pytest.approx(expected, abs=6e-4)


def test_many_degrees_of_freedom_are_a_normal_distribution() -> None:
    assert quantile(0.995, 999) == pytest.approx(quantile(0.995, 1000), rel=3e-3)


def test_equal_times_differ_by_nothing() -> None:
    found = ratio_interval([5, 3, 4], [3, 4, 5])
    assert (found.ratio, found.low, found.high, found.method) == (1.0, 1.0, 1.0, "identical")


def test_the_ratio_is_that_of_the_means() -> None:
    """What is shown divides to what is said: means of 105 and 52.5."""
    base, new = [100, 102, 104, 106, 108, 110], [50, 51, 53, 56]
    found = ratio_interval(base, new)
    assert (found.method, found.ratio) == ("means", pytest.approx(0.5))
    # Variances of the shares: 14 / 105^2 / 6 and 7 / 52.5^2 / 4; 5.2 degrees of freedom by Welch, t = 4.032 for five.
    half = 4.032 * math.sqrt(14 / 105**2 / 6 + 7 / 52.5**2 / 4)
    assert math.log(found.low / 0.5) == pytest.approx(-half, rel=1e-3)
    assert math.log(found.high / 0.5) == pytest.approx(half, rel=1e-3)
    assert ratio_interval(base, new, 0.9).low > found.low


def test_equal_shares_of_other_means_have_an_interval() -> None:
    found = ratio_interval([100, 110, 105, 95], [200, 220, 210, 190])
    assert found.ratio == pytest.approx(2)
    assert found.low < 2 < found.high


def test_neighbours_that_resemble_each_other_count_less() -> None:
    """A machine that warms up and cools down again is no more certain than its few ups and downs."""
    waves = [round(1000 + 100 * math.sin(i / 8)) for i in range(64)]
    mixed = [waves[i * 29 % 64] for i in range(64)]
    steady, drifting = (ratio_interval(one, [1010] * 4 + [1011]) for one in (mixed, waves))
    assert drifting.high - drifting.low > 2 * (steady.high - steady.low)


def test_few_steps_rest_on_their_spread() -> None:
    found = ratio_interval([100, 110, 105], [50, 55, 52])
    assert found.method == "spread"
    assert found.low < 0.5 < found.high < 0.6
    one = ratio_interval([100], [50, 55, 52])
    assert one.method == "spread"
    assert one.low < found.low


def test_one_step_on_each_side_takes_a_spread_for_granted() -> None:
    found = ratio_interval([100], [200])
    assert found.method == "assumed"
    assert math.log(found.high / 2) == pytest.approx(2.5758 * 0.1 * math.sqrt(2), rel=1e-4)


def test_many_steps_are_thinned() -> None:
    random = np.random.default_rng(1)
    base = [round(one) for one in random.lognormal(12, 0.2, 30_000)]
    found = ratio_interval(base, [round(1.01 * one) for one in base[:20_000]])
    assert found.ratio == pytest.approx(1.01, abs=0.005)


def test_rates_of_repeated_work() -> None:
    base = {f"kernel {i}": 100 + i for i in range(6)} | {"once": 1}
    found = rate_ratio(base, {name: calls * 9 // 10 for name, calls in base.items()}, 1000, 1000)
    assert found is not None
    assert (found.method, found.ratio) == ("rates", pytest.approx(1.11, abs=0.02))
    assert 1.09 < found.low <= found.ratio <= found.high < 1.14
    twice = rate_ratio(base, base, 1000, 2000)
    assert twice is not None
    assert (twice.low, twice.high) == (pytest.approx(2 / 1.007, rel=1e-3), pytest.approx(2 * 1.007, rel=1e-3))


def test_without_enough_repeated_work() -> None:
    base = {f"kernel {i}": 100 for i in range(6)}
    assert rate_ratio(base, dict.fromkeys(base, 7), 1000, 1000) is None
    assert rate_ratio(base, {**base, "other": 400}, 1000, 1000) is None
    assert rate_ratio({"one": 1000}, {"one": 1000}, 1000, 1000) is None


@pytest.mark.parametrize(("n", "m"), [(6, 4), (8, 8), (3, 3), (40, 30), (2, 5)])
def test_noise_alone_is_inside_as_often_as_it_should(n: int, m: int) -> None:
    random = np.random.default_rng(n * 100 + m)
    outside = 0
    for _ in range(400):
        found = ratio_interval(*([round(one) for one in random.lognormal(14, 0.05, size)] for size in (n, m)), 0.95)
        outside += not found.low <= 1 <= found.high
    assert outside <= 34  # 20 expected; 3 standard deviations more are 33


@pytest.mark.parametrize(
    ("base", "new", "most"),
    [
        ([100, 200], [100], None),  # Student's t of one degree of freedom is 64
        ([100, 101], [100], 2.2),
        ([100_000, 150_000], [1], None),
        ([100_000, 120_000], [1], 0.3),  # far from the ratio, but it says that the new side is faster
        ([1], [1000, 1010], 2000),
    ],
)
def test_an_upper_end_that_says_nothing_is_open(base: list[int], new: list[int], most: float | None) -> None:
    found = ratio_interval(base, new)
    assert found.low < found.ratio
    assert (found.most is None) is (found.high == math.inf) is (most is None)
    assert found.most is None or found.ratio < found.most < (most or 0)
