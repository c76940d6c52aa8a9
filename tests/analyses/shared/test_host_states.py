"""What the host did at every instant, whatever part of the time is asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepscope.analyses.shared.host_states import DATA, OP, OTHER, PYTHON, RUNTIME, SILENT, HostStates
from stepscope.model.intervals import Intervals

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)), max_size=4)
STATES = range(OP + 1)


def layers(ops: list[tuple[int, int]], calls: list[tuple[int, int]], loads: list[tuple[int, int]]) -> list[Intervals]:
    spans = {OP: ops, RUNTIME: calls, DATA: loads}
    return [
        Intervals.union_of([ts for ts, _ in spans.get(state, [])], [ts + dur for ts, dur in spans.get(state, [])])
        for state in STATES
    ]


@given(SPANS, SPANS, SPANS, SPANS, st.integers(-5, 50), st.integers(1, 30), st.sampled_from([1, 2]))
def test_a_part_of_the_time_is_as_all_of_it(
    ops: list[tuple[int, int]],
    calls: list[tuple[int, int]],
    loads: list[tuple[int, int]],
    others: list[tuple[int, int]],
    lo: int,
    length: int,
    thread: int,
) -> None:
    of_thread = {1: layers(ops, calls, loads), 2: layers(others, [], [])}
    found = HostStates((1, 2), of_thread, Intervals.union_of([3], [45]), True)
    starts, ends, states = (column.tolist() for column in found.timeline(thread, lo, lo + length))
    assert [starts[0], *ends[:-1]] == starts
    assert (starts[0], ends[-1]) == (lo, lo + length)
    for start, end, state in zip(starts, ends, states, strict=True):
        for at in range(start, end):
            covering = [
                one for own in (of_thread[thread], *of_thread.values()) for one in STATES if own[one].at([at])[0]
            ]
            mine = [one for one in STATES if of_thread[thread][one].at([at])[0]]
            expected = min(mine or covering, default=None)
            if expected is None:
                assert state in ((OP, PYTHON) if 3 <= at < 45 else (SILENT,))
            else:
                assert state == expected


def test_time_of_no_known_language_is_other() -> None:
    found = HostStates((1,), {1: layers([(0, 5), (9, 1)], [], [])}, Intervals.union_of([0], [10]), False)
    starts, ends, states = found.timeline(1, 2, 12)
    assert list(zip(starts.tolist(), ends.tolist(), states.tolist(), strict=True)) == [
        (2, 5, OP),
        (5, 9, OTHER),
        (9, 10, OP),
        (10, 12, SILENT),
    ]
