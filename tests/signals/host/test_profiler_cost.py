from __future__ import annotations

import pytest

from stepscope.signals import Signals
from stepscope.signals.host import host, profiler_cost
from stepscope.signals.host.profiler_cost import ProfilerCost, added_work, own_dispatch_share, own_late_share
from support import Facts

US = 1_000
NAMES = ("aten::empty", "aten::view", "aten::resize_")


def two_threads(
    slow_ns: int,
    quick_ns: int = 4 * US,
    *,
    names: tuple[str, ...] = NAMES,
    numbered: bool = False,
    calls: int = 20,
) -> Facts:
    """A step whose main thread and backward thread call the same operators, one after the other."""
    facts = Facts()
    end = 0
    for call in range(calls):
        for place, name in enumerate(names):
            at = (call * len(names) + place) * 100 * US
            args = {"Record function id": 7 + call} if numbered else None
            facts.host("op", name, at, slow_ns, args=args)
            facts.host("op", name, at + 50 * US, quick_ns, thread="2", args=args)
            facts.kernel("a", at + 30 * US, US, launch=(at + 25 * US, 2 * US))
            facts.kernel("b", at + 80 * US, US, launch=(at + 75 * US, 2 * US), thread="2")
            end = at + 100 * US
    facts.step(0, 0, end)
    return facts


def seen(facts: Facts) -> ProfilerCost:
    return Signals.of(facts.trace())(added_work)


def test_operators_of_one_thread_that_take_longer_than_equal_ones_carry_stacks() -> None:
    found = seen(two_threads(20 * US))
    assert (found.cause, found.times) == ("stacks", 5.0)
    assert found.added_ns == 60 * 16 * US


@pytest.mark.parametrize(("slow", "quick"), [(11_900, 4 * US), (7_900, 1 * US)])
def test_a_thread_that_is_a_little_slower_just_misses(slow: int, quick: int) -> None:
    assert seen(two_threads(slow, quick)) == ProfilerCost()


def test_too_few_names_do_not_tell() -> None:
    assert seen(two_threads(20 * US, names=NAMES[:2])) == ProfilerCost()


@pytest.mark.parametrize(
    ("python", "quick", "names", "cause"),
    [(True, 4, 5, "stacks"), (False, 4, 5, ""), (True, 4, 4, ""), (True, 5, 5, "")],
)
def test_few_calls_of_many_names_tell_where_python_is_recorded(
    python: bool, quick: int, names: int, cause: str
) -> None:
    many = tuple(f"aten::call{i}" for i in range(names))
    facts = two_threads(20 * US, quick * US, names=many, calls=2)
    if python:
        facts.host("python", "train.py(1): train", 0, 10_000 * US)
    assert seen(facts).cause == cause


def test_an_observer_numbers_operators_and_slows_all_of_them() -> None:
    found = seen(two_threads(20 * US, 20 * US, numbered=True))
    assert (found.cause, found.times) == ("observer", 10.0)
    assert found.added_ns > 0


def test_long_operators_without_numbers_and_numbered_short_ones_just_miss() -> None:
    assert seen(two_threads(20 * US, 20 * US)) == ProfilerCost()
    assert seen(two_threads(7 * US, 7 * US, numbered=True)) == ProfilerCost()


def generated(growth: int) -> Facts:
    """A function of 800 calls of 2 µs; the pause after each is 5 µs and grows by `growth` ns from call to call."""
    facts = Facts()
    at = 10 * US
    for call in range(800):
        facts.host("python", "torch/_inductor/runner.py(3): run", at, 2 * US)
        at += 2 * US + 5 * US + growth * call
    facts.kernel("a", 20 * US, US, launch=(11 * US, US))
    facts.host("python", "/tmp/torchinductor/abc.py(9): call", 5 * US, at)
    facts.host("op", "aten::view", 6 * US, US)
    facts.step(0, 0, at + 20 * US)
    return facts


def test_pauses_that_grow_along_a_function_look_up_lines() -> None:
    found = seen(generated(50))
    assert found.cause == "lines"
    assert found.times == pytest.approx(4.0, abs=0.5)
    assert found.added_ns == pytest.approx(sum(50 * max(call - 100, 0) for call in range(800)), rel=0.02)


@pytest.mark.parametrize("growth", [0, 10])
def test_pauses_that_stay_as_they_are_just_miss(growth: int) -> None:
    assert seen(generated(growth)) == ProfilerCost()


def test_without_the_profilers_part_the_host_may_be_in_time() -> None:
    assert Signals.of(two_threads(20 * US).trace())(own_dispatch_share) < 0.9
    known = {host.dispatch_share: 0.3, profiler_cost.added_share: 0.4}
    assert Signals(0, known)(own_dispatch_share) == 0.0
    assert Signals(0, {host.dispatch_share: 0.3})(own_dispatch_share) == 0.3


@pytest.mark.parametrize(("added", "left"), [(0.0, 0.2), (0.09, 0.11), (0.1, 0.1), (0.11, 0.0), (0.3, 0.0)])
def test_what_is_left_beside_a_profiler_that_adds_more_tells_nothing(added: float, left: float) -> None:
    known = {host.late_share: 0.2, profiler_cost.added_share: added}
    assert Signals(0, known)(own_late_share) == pytest.approx(left)
