from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.system import system
from support import Facts


def idle() -> Facts:
    """A step of 10 µs with two kernels, and 6 µs between them in which nothing is launched."""
    facts = Facts()
    facts.step(0, 0, 10_000)
    facts.kernel("a", 1000, 1000, launch=(900, 50))
    facts.kernel("b", 8000, 1000, launch=(7900, 50))
    return facts


def switched(facts: Facts, *switches: tuple[int, int]) -> None:
    track = facts.staging.track("counter", process="1", thread="thread 1 on CPU")
    for ts, value in switches:
        facts.row("counters", ts=ts, track=track, name="on CPU", value=value)


def test_states_of_threads_tell_who_could_have_run() -> None:
    facts = idle()
    facts.host("other", "futex", 9500, 100)
    switched(facts, (0, 1), (3000, 0), (4000, 1), (5000, -1), (5600, 1))
    s = Signals.of(facts.trace())
    assert (s(system.readiness_known), s(system.preempted).total) == (True, 600)


def test_reading_counts_where_the_device_is_idle() -> None:
    facts = idle()
    facts.host("other", "pread64", 1500, 2000)
    facts.host("other", "openat", 4000, 500)
    facts.host("other", "read", 5000, 1000, thread="2")
    s = Signals.of(facts.trace())
    assert s(system.reading).total == 2000
    assert s(system.reading_share) == pytest.approx(0.2)
    assert s(system.reading_calls) == ("pread64", "openat")


def test_python_functions_that_read_count_where_no_call_of_the_system_is_recorded() -> None:
    facts = idle()
    facts.host("python", "<built-in method read of _io.FileIO object at 0x7f>", 1500, 2000)
    facts.host("python", "<built-in function open>", 4000, 500)
    facts.host("python", "<built-in method read of _io.BytesIO object at 0x7f>", 5000, 1000)
    s = Signals.of(facts.trace())
    # The first kernel ends at 2000.
    assert s(system.reading).total == 2000
    assert s(system.reading_calls) == ("_io.FileIO.read", "open")


def test_without_a_device_reading_counts_outside_the_loader() -> None:
    facts = Facts()
    facts.step(0, 0, 10_000)
    facts.host("op", "aten::add", 100, 100)
    facts.host("dataloader", "enumerate(DataLoader)#_X.__next__", 1000, 1000)
    for ts in (1200, 3000):
        facts.host("python", "<built-in method read of _io.FileIO object at 0x7f>", ts, 500)
    s = Signals.of(facts.trace())
    assert (s(system.reading).starts.tolist(), s(system.reading).ends.tolist()) == ([3000], [3500])


def test_what_an_import_reads_comes_once() -> None:
    facts = Facts()
    facts.step(0, 0, 10_000)
    facts.host("op", "aten::add", 100, 100)
    facts.host("python", "<frozen importlib._bootstrap>(1165): _find_and_load", 1000, 3000)
    for ts in (1200, 5000):
        facts.host("python", "<built-in method read of _io.FileIO object at 0x7f>", ts, 500)
    s = Signals.of(facts.trace())
    assert (s(system.reading).starts.tolist(), s(system.reading).ends.tolist()) == ([5000], [5500])


def test_waiting_for_others_counts_outside_of_what_explains_it() -> None:
    facts = idle()
    facts.host("other", "futex", 2500, 1000)
    facts.host("dataloader", "enumerate(DataLoader)#_X.__next__", 4000, 2000)
    facts.host("other", "poll", 4100, 1800)
    facts.host("op", "aten::add", 6100, 1000)
    facts.host("other", "futex", 6200, 500)
    s = Signals.of(facts.trace())
    assert (s(system.blocked).starts.tolist(), s(system.blocked).ends.tolist()) == ([2500], [3500])
    assert s(system.blocking_calls) == ("futex",)


def test_a_thread_that_is_ready_and_does_not_run_is_preempted() -> None:
    facts = idle()
    facts.host("other", "futex", 5000, 1000)
    switched(facts, (0, 1), (3000, 0), (4000, 1), (5000, 0), (6500, 1))
    s = Signals.of(facts.trace())
    assert (s(system.preempted).starts.tolist(), s(system.preempted).ends.tolist()) == ([3000, 6000], [4000, 6500])
    assert s(system.preempted_share) == pytest.approx(0.15)


def test_without_calls_or_switches_there_is_nothing_to_say() -> None:
    with pytest.raises(MissingInputError, match="no calls of the operating system"):
        Signals.of(idle().trace())(system.reading)
    facts = idle()
    facts.host("other", "futex", 5000, 1000)
    with pytest.raises(MissingInputError, match="processor"):
        Signals.of(facts.trace())(system.preempted)


def test_the_longest_ones_come_first() -> None:
    facts = idle()
    facts.host("other", "read", 2500, 100)
    facts.host("other", "read", 3000, 900)
    assert system.longest(Signals.of(facts.trace())(system.reading)) == ((3000, 3900), (2500, 2600))
