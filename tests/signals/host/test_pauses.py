from __future__ import annotations

from collections.abc import Callable

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.host import pauses
from support import Facts

MS = 1_000_000


def recorded(disturb: Callable[[Facts, int, int], int], steps: int = 4) -> Signals:
    """Steps of 100 operators, one every 100 µs; `disturb` may add events after each and say how long they take."""
    facts = Facts()
    now = 0
    for number in range(steps):
        start = now
        for call in range(100):
            facts.host("op", "aten::add", now, 50_000)
            facts.kernel("add", now + 40_000, 20_000, launch=(now + 20_000, 4_000))
            now += 100_000 + disturb(facts, 100 * number + call, now + 60_000)
        facts.step(number, start, now - start)
    return Signals.of(facts.trace())


def found(s: Signals) -> list[int]:
    return (s(pauses.pauses).ends - s(pauses.pauses).starts).tolist()


def now_and_then(call: int) -> bool:
    return call % 37 == 20  # not at the same place of each step


def test_pauses_between_operators_are_found() -> None:
    s = recorded(lambda _facts, call, _at: 2 * MS * now_and_then(call))
    assert len(found(s)) == 11
    assert all(2 * MS < length < 2.1 * MS for length in found(s))
    assert s(pauses.pauses).inside == 0
    assert s(pauses.paused_share) == pytest.approx(11 * 2.05 / (40 + 22), rel=0.02)


def test_pauses_inside_operators_are_found() -> None:
    def pause(facts: Facts, call: int, at: int) -> int:
        if now_and_then(call):
            facts.host("op", "aten::mul", at, 3 * MS)
        else:
            facts.host("op", "aten::mul", at, 10_000)
        return 3 * MS * now_and_then(call)

    s = recorded(pause)
    assert len(found(s)) == 11
    assert s(pauses.pauses).inside == 11


def test_what_recurs_in_every_step_is_the_programs_own_work() -> None:
    assert found(recorded(lambda _facts, call, _at: 2 * MS * (call % 100 == 60))) == []


def test_an_operator_that_always_takes_long_is_no_pause() -> None:
    def work(facts: Facts, call: int, at: int) -> int:
        if now_and_then(call):
            facts.host("op", "aten::sort", at, 3 * MS)
        return 3 * MS * now_and_then(call)

    assert found(recorded(work)) == []


@pytest.mark.parametrize(
    ("category", "name"),
    [
        ("sync", "cudaStreamSynchronize"),
        ("dataloader", "enumerate(DataLoader)#_X.__next__"),
        ("gc", "Python GC"),
        ("runtime", "cudaMalloc"),
        ("launch", "cudaLaunchKernel"),
        ("overhead", "Buffer flush"),
    ],
)
def test_what_is_recorded_explains_itself(category: str, name: str) -> None:
    def wait(facts: Facts, call: int, at: int) -> int:
        if now_and_then(call):
            facts.host(category, name, at, 3 * MS)
        return 3 * MS * now_and_then(call)

    assert found(recorded(wait)) == []


def test_less_than_a_millisecond_is_nothing() -> None:
    assert found(recorded(lambda _facts, call, _at: 900_000 * now_and_then(call))) == []


@pytest.mark.parametrize(("steps", "regular"), [((0, 1, 2), True), ((0, 1), False)])
def test_what_recurs_in_half_of_the_other_steps_is_the_programs_own_work(steps: tuple[int, ...], regular: bool) -> None:
    def work(_facts: Facts, call: int, _at: int) -> int:
        return 2 * MS * (call % 100 == 60 and call // 100 in steps)

    assert found(recorded(work, steps=5)) == ([] if regular else pytest.approx([2_050_000] * 2, rel=0.02))


def test_two_steps_are_too_few_to_compare() -> None:
    assert found(recorded(lambda _facts, call, _at: 2 * MS * now_and_then(call), steps=2)) == []


def test_without_operators_it_is_not_known_what_the_host_does() -> None:
    facts = Facts()
    facts.kernel("k", 100, 100, launch=(10, 10))
    with pytest.raises(MissingInputError, match="no operators"):
        Signals.of(facts.trace())(pauses.pauses)
