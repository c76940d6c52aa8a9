"""Verdicts on remedies, from made-up runs."""

from __future__ import annotations

import pytest

from stepscope.trying.failures import CUT
from stepscope.trying.registry import all_remedies
from stepscope.trying.verdicts import measured
from trying_support import run, runs

FUSED = [all_remedies()["fused-optimizer"]]
FREEZE = [all_remedies()["gc-freeze"]]
BF16 = [all_remedies()["autocast-bf16"]]


@pytest.mark.parametrize(
    ("base", "new", "verdict"),
    [
        ((100e6, 101e6, 99e6, 100e6), (80e6, 81e6, 80e6, 79e6), "helps"),
        # Drift that both sides of each pair share.
        ((100e6, 150e6, 200e6, 250e6), (80e6, 130e6, 181e6, 229e6), "helps"),
        # A gain as large, that may be chance.
        ((100e6, 150e6, 200e6, 250e6), (90e6, 100e6, 210e6, 220e6), "no gain"),
        # Sure, and too small.
        ((100e6, 100e6, 100e6, 100e6), (99e6, 99e6, 99e6, 99.1e6), "no gain"),
        ((100e6, 100e6, 100e6, 100e6), (120e6, 121e6, 120e6, 121e6), "slower"),
        # Three pairs that are alike tell a gain of half the step; three that are not tell none.
        ((100e6, 100e6, 101e6), (50e6, 50e6, 50e6), "helps"),
        ((100e6, 100e6, 101e6), (50e6, 70e6, 90e6), "no gain"),
        # Too few pairs, however alike.
        ((100e6, 100e6), (50e6, 50.1e6), "no gain"),
        ((100e6,), (10e6,), "no gain"),
    ],
)
def test_the_interval_decides(base: tuple[float, ...], new: tuple[float, ...], verdict: str) -> None:
    found = measured(runs(base), runs(new, "fused-optimizer"), FUSED)
    assert found.verdict == verdict
    assert found.saved_ns is not None
    assert found.low_ns is not None
    assert found.high_ns is not None
    assert found.low_ns <= found.saved_ns <= found.high_ns
    assert found.saved_ns == pytest.approx((sum(base) - sum(new)) / len(base), abs=1)


def test_an_interval_is_that_of_the_mean_of_the_differences_and_no_longer_than_the_step() -> None:
    few = measured(runs([100e6, 100e6]), runs([80e6, 82e6], "fused-optimizer"), FUSED)
    # Student's t for 99 % and one degree of freedom is 63.66; the standard error of 20 and 18 is 1.
    assert few.low_ns == pytest.approx(19e6 - 63.66e6, rel=1e-3)
    assert few.high_ns == pytest.approx(19e6 + 63.66e6, rel=1e-3)
    wide = measured(runs([100e6, 100e6]), runs([40e6, 50e6], "fused-optimizer"), FUSED)
    assert wide.high_ns == 100e6


def test_numbers_of_all_unchanged_runs_tell_how_much_they_differ() -> None:
    base, new = runs([100e6]), runs([50e6], "fused-optimizer", losses=(2.0, 1.55, 1.0))
    assert measured(base, new, FUSED).verdict == "changes numbers"
    first = run(100e6, losses=(2.0, 1.52, 1.0))
    assert measured(base, new, FUSED, [first]).verdict == "no gain"


def test_other_losses_are_no_help_however_fast() -> None:
    found = measured(runs([100e6] * 4), runs([50e6] * 4, "fused-optimizer", losses=(2.0, 1.5, 1.01)), FUSED)
    assert (found.verdict, found.saved_ns) == ("changes numbers", 50_000_000)
    assert found.numbers is not None
    assert found.numbers.loss == pytest.approx(0.01 / 1.01)


@pytest.mark.parametrize(("loss", "same"), [(1.0005, True), (1.002, False)])
def test_a_tolerance_is_that_of_the_kind(loss: float, same: bool) -> None:
    found = measured(runs([100e6] * 4), runs([50e6] * 4, "fused-optimizer", losses=(2.0, 1.5, loss)), FUSED)
    assert found.numbers is not None
    assert found.numbers.same is same
    precise = measured(runs([100e6] * 4), runs([50e6] * 4, "autocast-bf16", losses=(2.0, 1.5, loss)), BF16)
    assert precise.verdict == "helps"


def test_numbers_that_differ_anyway_allow_three_times_as_much() -> None:
    base = [*runs([100e6] * 3), run(100e6, pair=3, losses=(2.0, 1.52, 1.0))]
    assert measured(base, runs([50e6] * 4, "fused-optimizer", losses=(2.0, 1.55, 1.0)), FUSED).verdict == "helps"
    assert (
        measured(base, runs([50e6] * 4, "fused-optimizer", losses=(2.0, 1.6, 1.0)), FUSED).verdict == "changes numbers"
    )


def test_fewer_digits_do_not_hide_in_numbers_that_differ_from_run_to_run() -> None:
    base = [*runs([100e6] * 3), run(100e6, pair=3, losses=(2.0, 1.8, 1.0))]
    assert measured(base, runs([50e6] * 4, "autocast-bf16"), BF16).verdict == "changes numbers"


def test_without_numbers_only_what_changes_no_arithmetic_helps() -> None:
    base = runs([100e6] * 4, losses=())
    for one in base:
        one.norms = [[]]
    new, frozen = (runs([50e6] * 4, name, losses=()) for name in ("fused-optimizer", "gc-freeze"))
    for one in [*new, *frozen]:
        one.norms = [[]]
    assert measured(base, new, FUSED).verdict == "changes numbers"
    assert measured(base, frozen, FREEZE).verdict == "helps"


def test_infinite_and_missing_losses_are_other_numbers() -> None:
    nan = float("nan")
    assert (
        measured(runs([100e6] * 4, losses=(nan,)), runs([50e6] * 4, "gc-freeze", losses=(nan,)), FREEZE).verdict
        == "helps"
    )
    assert (
        measured(runs([100e6] * 4), runs([50e6] * 4, "gc-freeze", losses=(2.0, nan)), FREEZE).verdict
        == "changes numbers"
    )


def test_a_run_that_failed_says_why_and_has_no_figures() -> None:
    failed = run(0, "fused-optimizer", why="runs out of memory")
    found = measured(runs([100e6] * 2), [*runs([80e6], "fused-optimizer"), failed], FUSED)
    assert (found.verdict, found.why, found.saved_ns) == ("failed", "runs out of memory", None)
    assert measured(runs([100e6]), [], FUSED).verdict == "failed"


def test_a_run_that_was_cut_is_not_the_one_that_failed() -> None:
    base, new = run(0, why="killed by SIGKILL"), run(0, "fused-optimizer", why="cut short")
    found = measured([base], [new], FUSED)
    assert (found.verdict, found.why) == ("failed", "the unchanged program did not run beside it: killed by SIGKILL")


def test_what_found_nothing_to_do_is_not_measured() -> None:
    new = runs([50e6] * 4, "fused-optimizer")
    for one in new:
        one.applied = []
    assert measured(runs([100e6] * 4), new, FUSED).verdict == "failed"


def test_a_pair_that_the_end_of_the_time_cut_was_not_run() -> None:
    """The unchanged program, which warmed up meanwhile, is not to blame."""
    fused = all_remedies()["fused-optimizer"]
    found = measured([run(0, why=CUT)], [run(0, fused.name, why=CUT)], [fused])
    assert (found.verdict, found.why) == ("failed", "it was not run: the time was over")
