"""What somebody waits for goes first, and the report is made all the same."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from stepscope.model.sizes import SIZES
from stepscope.reports.selection import ReportOptions
from stepscope.web.precedence import Precedence
from stepscope.web.viewing import Viewing
from support import Facts

#: Longer than any test runs, s.
LONG = 60.0


def waiting(precedence: Precedence) -> tuple[threading.Thread, threading.Event]:
    """A thread that waits, and whether it has gone on."""
    gone_on = threading.Event()
    thread = threading.Thread(target=lambda: (precedence.wait(), gone_on.set()), daemon=True)
    thread.start()
    return thread, gone_on


def test_nobody_waits_for_questions_that_nobody_asked() -> None:
    Precedence(quiet=LONG, patience=LONG).wait()


def test_the_first_question_may_come_a_while_after_the_start() -> None:
    _, gone_on = waiting(Precedence(start=LONG, quiet=0.0, patience=LONG))
    assert not gone_on.wait(0.2)
    thread, gone_on = waiting(Precedence(start=0.05, quiet=LONG, patience=LONG))
    thread.join(LONG)
    assert gone_on.is_set()


def test_it_goes_on_once_nobody_has_asked_for_a_while() -> None:
    precedence = Precedence(quiet=0.05, patience=LONG)
    with ExitStack() as asked:
        asked.enter_context(precedence.first())
        with precedence.first():
            thread, gone_on = waiting(precedence)
        assert not gone_on.wait(0.2), "one is still asking"
    thread.join(LONG)
    assert gone_on.is_set()


def test_it_waits_for_the_next_question() -> None:
    precedence = Precedence(quiet=LONG, patience=LONG)
    with precedence.first():
        pass
    _, gone_on = waiting(precedence)
    assert not gone_on.wait(0.2)


def test_a_question_that_fails_is_no_longer_asked() -> None:
    precedence = Precedence(quiet=0.0, patience=LONG)
    with pytest.raises(ValueError, match="of it"), precedence.first():
        raise ValueError("of it")
    precedence.wait()


def test_its_patience_ends() -> None:
    precedence = Precedence(quiet=LONG, patience=0.05)
    with precedence.first():
        precedence.wait()
        precedence.wait()


class Counted(Precedence):
    """Counts how often the report would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def wait(self) -> None:
        self.times += 1


@pytest.mark.parametrize(("large", "waits"), [(True, True), (False, False)])
def test_the_report_on_a_large_recording_waits_between_questions(large: bool, waits: bool) -> None:
    facts = Facts()
    facts.host("op", "aten::add", 100, 500)
    trace = facts.trace()
    viewing = Viewing(trace, ReportOptions(tables=("operators", "api_calls")))
    viewing.precedence = counted = Counted()
    with SIZES.changed(concurrent_events=0 if large else 4_000_000):
        viewing.whole_report()
    # At the start, at that of the rank, and after each of two tables.
    assert counted.times == (4 if waits else 0)
