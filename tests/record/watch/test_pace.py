"""Steps that are passed over count as if each had been looked at."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from itertools import cycle, islice

import pytest

from stepscope.record.job.loops import Loops
from stepscope.record.job.report import ProcessReport
from stepscope.record.job.watch.pace import StepPace
from stepscope.record.job.watch.passing import catch_up
from stepscope.record.job.windows import Windows
from stepscope.record.settings import RecordSettings

FOREVER = 1 << 62


class Program:
    """Sees events: `B` a batch is asked for, other capitals an optimizer updates, small letters a model is called."""

    def __init__(self, *, trains: bool, passes: bool, limit: int = FOREVER, until: int = FOREVER) -> None:
        self.loops = Loops(expects_updates=trains)
        self.pace = StepPace(
            lambda: self._happened("B"), lambda one: self._happened(one), lambda one: self._happened(one)
        )
        self.report, self.windows = ProcessReport(), Windows(RecordSettings("", "", scheduled=False))
        self.passes, self.limit, self.until = passes, limit, until
        self.looked = 0
        self.numbers: list[int] = []

    def see(self, events: str) -> None:
        for event in events:
            if event == "B":
                self.pace.asked()
            elif event.isupper():
                self.pace.updated(event)
            else:
                self.pace.called(event)

    def _happened(self, event: Hashable) -> None:
        if self.pace.is_here:
            self.catch_up()
        self.looked += 1
        loops = self.loops
        what = loops.batch() if event == "B" else (loops.update if str(event).isupper() else loops.call)(event)
        if what and self.passes and loops.finder.number > 3 and loops.finder.is_regular:
            self.pace.open(loops.finder, 1, self.limit, self.until, only=loops.is_settled)

    def catch_up(self) -> None:
        catch_up(self.pace, self.loops, self.windows, self.report, None)

    def state(self) -> dict[str, object]:
        self.catch_up()
        finder = self.loops.finder
        kept = {name: value for name, value in vars(finder).items() if name != "_updates"}
        # How many batches there were since an update matters only as whether there were any.
        return {**kept, "_since_update": bool(finder._since_update), **vars(finder._updates)}


@pytest.mark.parametrize(
    ("step", "trains"),
    [("BD", True), ("BBBD", True), ("D", True), ("BDG", True), ("DDG", True), ("BDDDDG", True), ("B", False),
     ("m", False), ("mv", False), ("vvm", False)],
)  # fmt: skip
@pytest.mark.parametrize("rest", [0, 1, 2])
def test_the_finder_is_as_if_each_step_had_been_looked_at(step: str, trains: bool, rest: int) -> None:
    events = "".join(islice(cycle(step), 40 * len(step) + rest))
    each, passed = Program(trains=trains, passes=False), Program(trains=trains, passes=True)
    each.see(events)
    passed.see(events)
    assert passed.looked < 10 * len(step) < each.looked
    assert passed.state() == each.state()
    # And so it goes on, also with what has not been there so far.
    for program in (each, passed):
        program.see(3 * step + "BBHBH" + 3 * step)
    assert passed.state() == each.state()


def test_an_evaluation_between_epochs_is_one_step_as_before() -> None:
    events = 20 * "BD" + 30 * "B" + 20 * "BD"
    each, passed = Program(trains=True, passes=False), Program(trains=True, passes=True)
    for program in (each, passed):
        program.see(events)
    assert passed.state() == each.state()
    assert passed.loops.finder.number == 40


def test_a_long_step_and_the_end_of_the_time_are_handed_on() -> None:
    slow = Program(trains=True, passes=True, limit=0)
    slow.see(20 * "BD")
    assert slow.looked == 20 + 4  # all batches, and the updates of the first four steps
    late = Program(trains=True, passes=True, until=0)
    late.see(20 * "BD")
    assert late.looked == slow.looked


def test_batches_that_another_thread_prepares_are_none_of_the_loop() -> None:
    program = Program(trains=True, passes=True)
    program.see(10 * "BD")
    looked = program.looked
    thread = threading.Thread(target=program.see, args=(50 * "B",))
    thread.start()
    thread.join()
    program.see(10 * "BD")
    assert program.looked == looked
    program.catch_up()
    assert program.loops.finder.number == 20


def test_what_another_thread_calls_is_looked_at_and_closes_nothing() -> None:
    program = Program(trains=False, passes=True)
    program.see(20 * "m")
    looked = program.looked
    thread = threading.Thread(target=program.see, args=(5 * "m",))
    thread.start()
    thread.join()
    program.see(10 * "m")
    program.catch_up()
    assert (program.looked, program.loops.finder.number) == (looked + 5, 29)


def test_lengths_are_those_between_ends() -> None:
    program = Program(trains=True, passes=True)
    program.see(20 * "D")
    ends, start = list(program.pace.ends), program.pace.start
    assert (len(ends), start) == (16, 1)
    program.catch_up()
    assert list(program.report._outside) == [after - before for before, after in zip([1, *ends], ends, strict=False)]
    program.catch_up()
    assert len(program.report._outside) == program.report.passed == len(ends)
