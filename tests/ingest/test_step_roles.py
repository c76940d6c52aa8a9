"""Which steps are typical, and why the others are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepscope.ingest.derive.steps.roles import roles_of
from stepscope.model.trace import Trace
from support import Facts

MS = 1_000_000


def roles(*length: int, host: tuple[int, ...] = (), partial: tuple[int, ...] = ()) -> str:
    """Initials of the roles: typical, partial, warm-up, edge, outlier."""
    cut = np.array([i in partial for i in range(len(length))], np.bool_)
    times = (np.array(values, np.int64) * MS for values in (length, host or length))
    found = roles_of(*times, cut, "profiler")
    assert [one is None for one in found.reason] == [role == "typical" for role in found.role]
    return "".join(role[0] for role in found.role)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        ((100,), "t"),
        ((100, 190), "tt"),  # of two steps nobody knows which is typical
        ((210, 100), "wt"),
        ((100, 101, 102, 99), "tttt"),
        ((0, 0, 0, 0), "tttt"),
        ((126, 100, 100, 100), "wttt"),
        ((125, 100, 100, 100), "tttt"),
        ((547, 160, 100, 101, 99), "wwttt"),
        ((100, 101, 163, 100, 99, 100), "ttottt"),
        ((100, 100, 100, 152), "ttte"),
        ((60, 100, 100, 100), "ettt"),
        ((82, 166, 84, 165, 83, 166), "tttttt"),  # run-ahead alternates
        # One of many that vary is far beyond all of them.
        ((20, 20, 40, 20, 20, 1200, 20, 20, 45, 20, 20, 20), "tttttotttttt"),
        ((20, 20, 40, 20, 20, 140, 20, 20, 45, 20, 20, 20), "tttttttttttt"),
        ((217, 143, 217, 143, 216), "ttttt"),  # both workers are too slow
        ((217, 143, 217, 143, 200), "wtote"),
        ((217, 143, 217, 143, 143), "wtott"),
        ((36, 6, 6, 6, 38, 6, 6, 6), "tttttttt"),  # four workers are too slow
        ((36, 6, 6, 6, 50, 6, 6, 6), "wtttottt"),  # a warm-up and a pause
        ((6, 6, 6, 6, 38, 6, 6, 6), "ttttottt"),
        ((100, 100, 100, 180) * 5, "t" * 20),  # every fourth step ends with the optimizer
    ],
)
def test_lengths_that_differ_from_the_usual(length: tuple[int, ...], expected: str) -> None:
    assert roles(*length) == expected


def test_steps_that_are_cut_are_not_typical_unless_all_are() -> None:
    assert roles(100, 100, 100, 40, partial=(3,)) == "tttp"
    assert roles(100, 60, partial=(0, 1)) == "tt"


def test_the_host_shows_where_the_profiler_started_and_stopped() -> None:
    assert roles(118, 116, 115, 120, 117, 119, host=(152, 118, 108, 124, 115, 152)) == "etttte"
    assert roles(95, 96, 95, 96, 96, host=(35, 72, 96, 96, 96)) == "ttttt"  # it ran ahead


def test_the_reason_tells_both_lengths() -> None:
    found = roles_of(*(np.array([300, 100, 100, 100], np.int64) * MS for _ in "12"), np.zeros(4, np.bool_), "profiler")
    assert found.role[0] == "warm-up"
    assert found.reason[0] == "300 ms where the others take 100 ms"


def table(trace: Trace) -> list[tuple[Any, ...]]:
    rows = trace.rows('SELECT "begin", "end", typical, role FROM steps ORDER BY step')
    return [tuple(row.values()) for row in rows]


def test_a_step_begins_when_the_device_has_done_what_was_launched_before_the_recording() -> None:
    f = Facts()
    for number in range(3):
        f.step(number, 1000 * number, 1000)
    f.kernel("earlier", 0, 300)
    for number in range(3):
        f.kernel("mine", 1000 * number + 310, 900, launch=(1000 * number + 5, 2))
    trace = f.trace()
    assert [row[:2] for row in table(trace)] == [(300, 1210), (1210, 2210), (2210, 3210)]
    assert trace.scalar("SELECT count(*) FROM kernels WHERE step IS NULL") == 1


def test_what_a_queue_is_told_to_wait_for_is_recorded_when_it_is_told() -> None:
    """CUPTI records such a wait when it is asked for, while the queue still has work of before the recording."""
    f = Facts()
    for number in range(3):
        f.step(number, 1000 * number, 1000)
    f.kernel("Stream Wait Event", 3, 1, launch=(2, 1), kind="sync")
    for at in (0, 300, 1100):
        f.kernel("earlier", at, 200)
    for number in range(3):
        f.kernel("mine", 1000 * number + 1310, 900, launch=(1000 * number + 5, 2))
    trace = f.trace()
    assert [row[:2] for row in table(trace)] == [(1300, 2210), (2210, 3210), (3210, 4210)]
    assert trace.scalar("SELECT count(*) FROM kernels WHERE step IS NULL") == 3


def test_a_step_begins_with_its_first_work_where_something_unrecorded_was_in_the_way() -> None:
    f = Facts()
    f.step(6, 0, 10 * MS)
    f.kernel("mine", 4 * MS, 5 * MS, launch=(1 * MS, 2_000))
    assert table(f.trace()) == [(4 * MS, 10 * MS, True, "typical")]
    f = Facts()
    f.step(6, 0, 10 * MS)
    f.kernel("mine", 2 * MS, 5 * MS, launch=(1 * MS, 2_000))
    assert table(f.trace()) == [(0, 10 * MS, True, "typical")]


def test_a_recording_without_steps_is_as_long_as_the_device_was_in_use() -> None:
    f = Facts()
    f.host("runtime", "cudaMalloc", 0, 300 * MS)
    f.kernel("a", 310 * MS, MS, launch=(309 * MS, 4_000))
    f.kernel("b", 312 * MS, MS, launch=(311 * MS, 4_000))
    f.host("runtime", "cudaFree", 320 * MS, 50 * MS)
    assert table(f.trace()) == [(310 * MS, 313 * MS, True, "window")]
