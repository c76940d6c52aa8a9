from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.host import host
from stepscope.signals.shared.job import step_ns
from support import Facts

MS = 1_000_000


def starved(*, kernel_ns: int = 5_000, operator_ns: int = 50_000, calls: int = 40) -> Facts:
    """Three steps of 4 ms in which the host launches one short kernel every 100 µs, half of it in an operator."""
    facts = Facts()
    for number in range(3):
        at = number * 4 * MS
        facts.step(number, at, 4 * MS)
        for call in range(calls):
            start = at + call * 100_000
            facts.host("op", "aten::relu", start + 20_000, operator_ns)
            facts.kernel("relu", start + 20_000 + operator_ns - 3_000, kernel_ns, launch=(start + 60_000, 4_000))
    return facts


def signals(facts: Facts) -> Signals:
    return Signals.of(facts.trace())


class TestIdleTime:
    def test_it_is_split_by_what_the_host_did(self) -> None:
        s = signals(starved())
        assert s(host.dispatch_share) == pytest.approx(0.95, abs=0.02)
        assert s(host.python_share) == pytest.approx(0.5, abs=0.05)
        assert s(host.operators_share) == pytest.approx(0.45, abs=0.05)
        assert s(host.idle_share) == pytest.approx(s(host.dispatch_share))

    def test_a_busy_device_waits_for_nothing(self) -> None:
        facts = Facts()
        for number in range(3):
            facts.step(number, number * MS, MS)
            facts.kernel("gemm", number * MS, MS, launch=(max(number * MS - 500_000, 0), 4_000))
        s = signals(facts)
        assert s(host.dispatch_share) == pytest.approx(0.0, abs=0.01)

    def test_what_waiting_can_cost_is_neither_the_loader_nor_the_host_s_own_work(self) -> None:
        found = {("host_dispatch", "host_work"): 600, ("data_wait", ""): 100, ("host_dispatch", "python"): 30}
        s = Signals(0, {host.idle: found, host.idle_ns: 730})
        assert s(host.refill_ns) == 30

    def test_nor_is_it_idle_time_of_an_unknown_cause(self) -> None:
        found = {("unknown", "work_not_recorded"): 600, ("synchronisation", "refill"): 100}
        assert Signals(0, {host.idle: found, host.idle_ns: 700})(host.refill_ns) == 100

    def test_without_steps_only_the_time_counts_in_which_the_device_is_in_use(self) -> None:
        facts = Facts()
        facts.host("op", "start", 0, 9 * MS)
        facts.kernel("a", 10 * MS, MS, launch=(9 * MS, 4_000))
        facts.kernel("b", 14 * MS, MS, launch=(13 * MS, 4_000))
        facts.host("op", "end", 15 * MS, 5 * MS)
        s = signals(facts)
        assert s(step_ns) == 5 * MS
        assert s(host.idle_share) == pytest.approx(0.6)
        assert (s(host.line).starts.min(), s(host.line).ends.max()) == (10 * MS, 15 * MS)

    @pytest.mark.parametrize(("every", "gaps"), [(20_000, 50.0), (400_000, 4.0)])
    def test_gaps_of_short_steps_count_by_the_millisecond(self, every: int, gaps: float) -> None:
        """A loop of four kernels that come late: in steps of 80 µs they are many, in steps of 1.6 ms they are not."""
        facts = Facts()
        for number in range(5):
            at = number * 4 * every
            facts.step(number, at, 4 * every)
            for start in range(at, at + 4 * every, every):
                facts.host("op", "prepare", start, every * 3 // 4)
                facts.kernel("k", start + every * 9 // 10, every // 10, launch=(start + every * 3 // 4, every // 10))
        assert signals(facts)(host.dispatch_gaps) == pytest.approx(gaps, rel=0.1)

    def test_without_a_device_there_is_nothing_to_say(self) -> None:
        facts = Facts()
        facts.step(1, 0, MS)
        facts.host("op", "aten::relu", 100, 100)
        with pytest.raises(MissingInputError, match="no device activity"):
            signals(facts)(host.dispatch_share)


class TestWhatCallsTake:
    def test_they_are_medians(self) -> None:
        s = signals(starved())
        assert (s(host.kernel_ns), s(host.launch_period_ns), s(host.call_ns)) == (5_000, 100_000, 4_000)

    def test_only_operators_that_call_nothing_tell_what_one_takes(self) -> None:
        facts = starved()
        for call in range(40):
            facts.host("op", "aten::t", call * 100_000 + 90_000, 1_500)
        assert signals(facts)(host.operator_ns) == 1_500

    def test_a_few_calls_tell_nothing(self) -> None:
        s = signals(starved(calls=9))
        assert (s(host.operator_ns), s(host.call_ns)) == (0, 0)


class TestTheHostsTime:
    def test_python_is_what_lies_between_operators(self) -> None:
        s = signals(starved())
        starts, ends = s(host.in_python)
        assert (ends - starts).sum() == pytest.approx(3 * 40 * 50_000, rel=0.05)
        assert s(host.python_per_operator_ns) == pytest.approx(50_000, rel=0.05)
        assert s(host.python_part) == pytest.approx(0.5, rel=0.05)

    def test_operators_and_python_together_are_dispatching(self) -> None:
        s = signals(starved())
        starts, ends = s(host.dispatching)
        inside = s(host.in_operators)
        assert (ends - starts).sum() == pytest.approx(12 * MS, rel=0.02)
        assert (inside[1] - inside[0]).sum() == pytest.approx(6 * MS, rel=0.05)


def test_collections_count_in_steps() -> None:
    facts = starved()
    inside = facts.host("gc", "Python GC", 2 * MS, 600_000)
    facts.host("gc", "Python GC", 13 * MS, 600_000)
    s = signals(facts)
    assert s(host.collections).events.tolist() == [inside]
    assert s(host.collecting_share) == pytest.approx(0.05, rel=0.02)


def test_a_collection_inside_the_call_that_asked_for_it_counts_once() -> None:
    facts = starved()
    call = facts.host("gc", "<built-in function collect>", 2 * MS, 600_000)
    facts.host("gc", "Python GC", 2 * MS + 1_000, 590_000)
    s = signals(facts)
    assert s(host.collections).events.tolist() == [call]
    assert s(host.collecting_share) == pytest.approx(0.05, rel=0.02)


@pytest.mark.parametrize(("late", "part"), [((1, 2), 1.0), ((1, 2, 8), 2 / 3)])
def test_a_queue_that_fills_once_is_idle_in_the_first_half(late: tuple[int, ...], part: float) -> None:
    """Kernels of 1 ms, one right after another but for some that are launched 100 µs late."""
    facts = Facts()
    at = 0
    for call in range(10):
        at += 100_000 if call in late else 0
        facts.kernel("gemm", at, MS, launch=(at - 5_000 if call in late else 0, 5_000))
        at += MS
    facts.kernel("gemm", at, MS, launch=(0, 5_000))
    facts.host("op", "aten::mm", 0, 10_000)
    assert signals(facts)(host.ramp_share) == pytest.approx(part, abs=0.1)


def test_steps_have_a_ramp_each() -> None:
    assert signals(starved())(host.ramp_share) == 0.0
