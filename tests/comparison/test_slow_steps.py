"""Steps that take far longer than the usual ones: stalls, two kinds of steps, and what gates make of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.comparison.causes.sentence import sentence
from stepscope.comparison.comparable import WORK
from stepscope.comparison.gates import growth_limit, judge
from stepscope.comparison.metrics import metric_shifts
from stepscope.comparison.noise.modes import chance_of_share, slow_mode
from stepscope.comparison.steps.figures import StepFigure
from stepscope.comparison.steps.recorded import RecordedStep
from stepscope.comparison.steps.slow import slow_shift, stands_out
from stepscope.comparison.summary import SideFacts, SideSummary
from stepscope.comparison.verdict import StepTimes, step_times
from stepscope.reports.compared.steps_grid import _row

USUAL = (178, 175, 180, 174, 182, 176)


def side(times: tuple[int, ...], roles: dict[int, str] | None = None) -> SideSummary:
    """Steps of so many ms; those with a role are not typical, and wait for data."""
    roles = roles or {}
    steps = tuple(
        RecordedStep(i, ms * 1_000_000, roles.get(i, "typical"), "", "idle.data_wait" if i in roles else "")
        for i, ms in enumerate(times)
    )
    typical = tuple(one.ns for one in steps if one.role == "typical")
    facts = SideFacts("a", "kineto", 0, 1, tuple(range(len(times))), "step", 1, "", "")
    return SideSummary(facts, {}, frozenset(), {"step_time": typical}, {}, steps)


def compared(base: SideSummary, new: SideSummary) -> StepTimes:
    return step_times(base, new)


def failed(base: SideSummary, new: SideSummary, gate: str) -> bool:
    times = compared(base, new)
    [result] = judge([growth_limit(gate)], metric_shifts(base, new, times.interval, 0.99, times.steps))
    return result.failed


@pytest.mark.parametrize(
    ("works", "verdict"),
    [
        (("training", "running"), "inconclusive"),
        (("training", "training"), "slower"),
        (("running", "unknown"), "slower"),
        ((None, "running"), "slower"),
    ],
)
def test_neither_of_a_training_and_an_inference_is_faster(works: tuple[str | None, ...], verdict: str) -> None:
    """Nor is that told of what a recording or an older baseline does not tell."""
    sides = (side(USUAL), side(tuple(2 * ms for ms in USUAL)))
    first, second = (
        replace(one, recorded={} if work is None else {WORK: work}) for one, work in zip(sides, works, strict=True)
    )
    found = compared(first, second)
    assert (found.verdict, found.unlike) == (verdict, verdict == "inconclusive")
    assert found.reason.startswith("one side trains a model and the other runs one") is found.unlike
    assert found.reason.endswith(compared(*sides).reason)
    assert ("within noise" in sentence(found, (), (), ())) is False


STALL = side((178, 175, 180, 324, 182, 176), {3: "outlier"})


def test_a_stall_makes_the_run_slower_though_the_typical_step_is_the_same() -> None:
    found = compared(side(USUAL), STALL)
    assert found.verdict == "slower"
    assert found.every == (177_500_000, 202_500_000)
    assert "1 of 6 steps takes 146 ms longer, in data wait, none of 6 before" in found.reason


def test_the_same_stalls_on_both_sides_are_told_once() -> None:
    assert compared(STALL, STALL).reason.endswith("1 of 6 steps takes 146 ms longer, in data wait, as before")
    later = side((178, 175, 180, 334, 182, 176), {3: "outlier"})
    assert compared(STALL, later).reason.endswith("156 ms longer, in data wait; 1 of 6 steps takes 146 ms longer, "
                                                  "in data wait before")  # fmt: skip


def test_a_single_stall_that_is_gone_is_named_but_proves_nothing() -> None:
    """Single long steps come and go: of 100 pairs that differed by noise alone, 3 were called faster for that."""
    found = compared(STALL, side(USUAL))
    assert found.verdict == "inconclusive"
    assert "1 of 6 steps takes 146 ms longer, in data wait before, none of 6 now" in found.reason
    twice = side((178, 324, 180, 175, 331, 182, 176, 179), {1: "outlier", 4: "outlier"})
    assert compared(twice, side(USUAL)).verdict == "faster"


def test_a_long_stall_that_is_gone_proves_nothing_where_another_one_came() -> None:
    def stalled(ms: int, at: str) -> tuple[RecordedStep, ...]:
        usual = [RecordedStep(i, one, "typical") for i, one in enumerate((*USUAL, *USUAL))]
        return (*usual[:3], RecordedStep(3, ms, "outlier", "", at), *usual[4:])

    long, short = stalled(324, "idle.data_wait"), stalled(230, "compute")
    assert not slow_shift(long, short, 0.99).sure
    assert slow_shift(short, long, 0.99).sure


@pytest.mark.parametrize(("others", "found"), [(0, True), (8, False)])
def test_the_more_parts_are_looked_at_the_more_certain_one_must_be(others: int, found: bool) -> None:
    def step(i: int, compute: int) -> RecordedStep:
        parts = {"compute": compute, **{f"part{k}": 10_000 for k in range(others)}}
        return RecordedStep(i, sum(parts.values()), "typical", "", "", parts)

    usual = [step(i, 1_000_000 + 18_000 * (i % 3 - 1)) for i in range(9)]
    assert stands_out(step(9, 1_110_000), usual, 10, 0.99) is found


def test_what_lasts_beyond_a_start_that_both_have_is_no_start() -> None:
    base = side((700, 178, 175, 180, 174, 182, 176), {0: "warm-up"})
    new = side((700, 320, 175, 180, 174, 182, 176), {0: "warm-up", 1: "warm-up"})
    assert "1 of 6 steps takes 143 ms longer" in compared(base, new).reason
    # Without a start in the base it may be one.
    assert compared(side(USUAL), side((700, *USUAL), {0: "warm-up"})).verdict == "same"


def test_no_verdict_contradicts_the_mean_of_all_steps() -> None:
    """A new stall costs 4.8 % of a step, yet all steps together take no longer."""
    base = side((100, 104, 96, 108, 92, 100, 106, 94))
    found = compared(base, side((95, 99, 91, 133, 103, 87, 95, 95), {3: "outlier"}))
    assert found.verdict == "inconclusive"
    assert "1 of 8 steps takes 38.0 ms longer" in found.reason


@pytest.mark.parametrize(
    ("gate", "fails"),
    [
        ("step_time>3%", True), ("mean_step>3%", True), ("throughput<3%", True), ("stalls>3%", True),
        ("p95_step>3%", True), ("typical_step>3%", False), ("step_time>20%", False), ("stalls>20%", False),
    ],
)  # fmt: skip
def test_gates_on_a_new_stall(gate: str, fails: bool) -> None:
    assert failed(side(USUAL), STALL, gate) is fails
    assert not failed(STALL, STALL, gate)
    assert not failed(STALL, side(USUAL), gate)


def test_a_stall_on_both_sides_is_none_of_the_new_one() -> None:
    found = compared(STALL, side((176, 329, 179, 177, 181, 174), {1: "outlier"}))
    assert found.verdict == "inconclusive"
    assert not found.steps.slow.sure


def test_one_small_stall_of_many_steps_is_no_verdict() -> None:
    """150 ms once in 50 steps are 1.7 % of them, which may happen to any recording."""
    times = USUAL * 8
    found = compared(side(times), side((*times[:20], 324, *times[21:]), {20: "outlier"}))
    assert found.verdict in ("inconclusive", "same")


def test_warm_up_is_told_and_decides_nothing() -> None:
    found = compared(side(USUAL), side((500, *USUAL[1:]), {0: "warm-up"}))
    assert found.verdict == "inconclusive"
    assert [one.step for one in found.steps.slow.new.starting] == [0]


def test_steps_of_two_kinds_are_compared_by_kind_and_share() -> None:
    """Three of six steps take 38 % longer."""
    two = side((178, 245, 180, 240, 182, 243))
    found = compared(side(USUAL), two)
    assert found.verdict == "slower"
    assert "3 of 6 steps take 62.7 ms longer" in found.reason
    assert failed(side(USUAL), two, "step_time>3%")
    kinds = {one.name: (one.base, one.new) for one in found.steps.figures}
    assert kinds["slow_step"][0] is None
    assert kinds["slow_step"][1] == pytest.approx(242.67e6, rel=1e-4)
    assert compared(two, side((179, 244, 181, 241, 177, 246))).verdict in ("inconclusive", "same")


def test_all_steps_of_the_slow_kind() -> None:
    """What every step waited for, half of them no longer do."""
    found = compared(side((245, 241, 244, 240, 246, 243)), side((178, 245, 180, 240, 182, 243)))
    assert found.verdict == "faster"


def test_slow_modes() -> None:
    assert slow_mode([100, 140, 101, 141, 99, 139]).tolist() == [False, True] * 3
    assert not slow_mode([100, 104, 98, 103, 96, 101]).any()
    assert not slow_mode([100, 200, 101]).any()


def test_chance_of_a_share() -> None:
    """Fisher's tea: 3 of 4 beside 1 of 4."""
    assert chance_of_share((3, 4), (1, 4)) == pytest.approx(34 / 70)
    assert chance_of_share((0, 6), (6, 6)) == pytest.approx(2 / 924)


def test_no_interval_reaches_below_nothing() -> None:
    """Few steps that vary much tell little, but none of the new side is shorter than nothing."""
    figure = compared(side((134, 120, 194, 100)), side((21, 20, 43, 22))).steps.figure("p95_step")
    assert figure is not None
    assert figure.base is not None
    assert figure.low is not None
    assert figure.high is not None
    assert -figure.base <= figure.low <= figure.high


@pytest.mark.parametrize(("high", "shown"), [(900.0, False), (901.0, True)])
def test_what_is_only_counted_has_no_interval(high: float, shown: bool) -> None:
    growth, interval = _row(StepFigure("stalls", "ns", 100.0, 1_000.0, 900.0, high, "stalls"))[3:5]
    assert growth
    assert bool(interval) == shown
