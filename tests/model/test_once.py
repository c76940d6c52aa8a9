"""`Trace.once` and temporary tables, asked by several threads at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pyarrow as pa
import pytest

from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace
from support import Facts


@pytest.fixture
def trace() -> Trace:
    facts = Facts()
    facts.host("op", "aten::add", 0, 10)
    return facts.trace()


def test_threads_that_ask_at_the_same_time_get_one_value(trace: Trace) -> None:
    together, computed = Barrier(8), []

    def value(one: Trace) -> list[int]:
        computed.append(one)
        return [one.scalar("SELECT count(*) FROM spans")]

    def ask(_: int) -> list[int]:
        together.wait()
        return trace.for_thread().once(value)

    with ThreadPoolExecutor(8) as executor:
        found = list(executor.map(ask, range(8)))
    assert len(computed) == 1
    assert all(one is found[0] for one in found)


def test_values_are_asked_for_and_forgotten_at_the_same_time(trace: Trace) -> None:
    def asked(number: int) -> int:
        if number % 4 == 0:
            trace.for_thread().forget(0)
        # A function of its own per number: the memo grows while others go through it.
        return trace.for_thread().once(lambda _: number)

    with ThreadPoolExecutor(8) as executor:
        assert list(executor.map(asked, range(400))) == list(range(400))


def test_a_value_that_failed_is_asked_for_again(trace: Trace) -> None:
    asked = []

    def value(_: Trace) -> int:
        asked.append(1)
        if len(asked) == 1:
            raise OSError("nothing")
        return 7

    with pytest.raises(OSError, match="nothing"):
        trace.once(value)
    assert trace.once(value) == 7


def test_what_a_recording_lacks_is_looked_for_once(trace: Trace) -> None:
    asked: list[Trace] = []

    def value(one: Trace) -> int:
        asked.append(one)
        raise MissingInputError("nothing", hint="record it", needs="shapes")

    found = []
    for _ in range(3):
        with pytest.raises(MissingInputError) as told:
            trace.for_thread().once(value)
        found.append(told.value)
    assert len(asked) == 1
    assert [(one.message, one.hint, one.needs) for one in found] == [("nothing", "record it", "shapes")] * 3
    assert len({id(one) for one in found}) == 3, "raising adds to a traceback"


def test_a_value_that_asks_for_itself_is_an_error(trace: Trace) -> None:
    def value(one: Trace) -> int:
        return one.once(value)

    with pytest.raises(RecursionError):
        trace.once(value)


def test_temporary_tables_have_names_of_their_own(trace: Trace) -> None:
    with trace.temporary(pa.table({"id": [1]})) as one, trace.temporary(pa.table({"id": [2]})) as other:
        assert [trace.scalar(f"SELECT id FROM {name}") for name in (one, other)] == [1, 2]
    with pytest.raises(Exception, match="does not exist"):
        trace.scalar(f"SELECT id FROM {one}")
