from __future__ import annotations

from typing import Any

import pytest

from cluster_support import rank
from stepscope.model.errors import MissingInputError
from stepscope.rules.cluster.lateness import READS, LateOnes, late_by_cause
from stepscope.signals import Signals
from stepscope.signals.communication import cluster
from stepscope.signals.communication.rank_times import rank_times


def causes(*ranks: dict[Any, Any]) -> dict[str, LateOnes]:
    sealed = {number: Signals(number, given).sealed(READS) for number, given in enumerate(ranks)}
    return late_by_cause(sealed, {"min_wait": 0.01, "min_ratio": 1.05})


@pytest.mark.parametrize(
    ("differs", "cause"),
    [
        ({"device": 1.3}, "device"),
        ({"device": 1.3, "work": 1.05}, "work"),
        ({"device": 1.04}, ""),
        ({"operator": 1_200, "dispatch": 0.01}, "host"),
        ({"operator": 1_200, "dispatch": 0.009}, ""),
        ({"operator": 1_190, "dispatch": 0.3}, ""),
        ({"fetched": 202_500, "operator": 3_000, "dispatch": 0.3}, "loading"),
        ({"fetched": 202_499, "operator": 3_000, "dispatch": 0.3}, "host"),
        ({}, ""),
    ],
)
def test_each_late_rank_has_one_cause(differs: dict[str, Any], cause: str) -> None:
    found = causes(rank(), rank(0, **differs), rank(410_000))
    assert {one: late.numbers for one, late in found.items()} == {cause: (1,)}
    assert found[cause].first.found.wait_ns == 405_000
    assert found[cause].gain_ns == 400_000


def test_ranks_that_are_late_for_different_causes_are_told_apart() -> None:
    found = causes(rank(), rank(), rank(0, device=1.3), rank(0, operator=3_000, dispatch=0.3))
    assert {one: late.names for one, late in found.items()} == {"device": "rank 2", "host": "rank 3"}


def test_a_price_is_no_more_than_the_rank_waits_for_it_that_waits_least() -> None:
    """All would save 600 µs without any waiting, but rank 0 waits for another one for the most of it."""
    (found,) = causes(rank(300_000, gain=600_000), rank(gain=600_000), rank(500_000, gain=600_000), rank(0)).values()
    assert found.first.found.wait_ns == 400_000
    assert found.gain_ns == 300_000


def test_kernels_that_run_more_often_on_one_rank_do_not_compare() -> None:
    other = {**rank(0, device=1.3), cluster.kernels: {"gemm": cluster.Kernel(12, 900_000, 1)}}
    assert causes(rank(), other)[""].first.device == 1.0


def test_what_is_not_known_does_not_differ() -> None:
    found = causes(*({rank_times: rank(wait)[rank_times]} for wait in (400_000, 0)))
    late = found[""].first
    assert (late.device, late.work, late.host, late.loading_ns) == (1.0, 1.0, 1.0, 0)
    assert late.gain_ns == 400_000


def test_what_is_known_of_some_ranks_only_is_less_sure() -> None:
    sure, less = (causes(rank(absent=absent), rank(0, absent=absent))[""] for absent in (False, True))
    assert (sure.beside, sure.confidence) == ("", 0.9)
    assert "not at hand" in less.beside
    assert less.confidence < sure.confidence


def test_one_rank_or_unknown_waits_tell_nothing() -> None:
    with pytest.raises(MissingInputError, match="one rank"):
        causes(rank())
    with pytest.raises(MissingInputError, match="enough ranks"):
        causes({}, {})
