"""Jobs whose models run on processors: who comes last to the collectives of gloo and MPI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stepscope.ingest import Options, open_trace
from stepscope.language import speaking, told
from stepscope.model.trace import Trace
from stepscope.reports.build import build_report
from stepscope.reports.sections.slowest import slowest
from stepscope.signals import Signals
from stepscope.signals.communication.exchanged import exchanged
from stepscope.signals.communication.late_ranks import late_ranks
from stepscope.signals.communication.rank_times import RankTimes, rank_times

MS = 1_000_000
STEP = 20
Call = tuple[float, float]


def written(
    folder: Path, ranks: Sequence[Sequence[Call]], *, name: str = "gloo:all_reduce", steps: int = 4, busy: float = 8,
    more: Sequence[tuple[str, float, float]] = (), groups: int = 1, numbered: bool = True,
    after: Sequence[float] = (),
) -> Trace:  # fmt: skip
    """A job of steps of 20 ms: 8 ms of matrices, then the rank's collectives, from and to ms of the step.

    Args:
        more: Operators of all ranks.
        after: How long after the start of its first collective each rank runs an operator; at the end where not stated.
    """
    world = len(ranks)
    for rank, calls in enumerate(ranks):
        events: list[dict[str, Any]] = []

        def add(cat: str, title: str, start: float, stop: float, tid: int = 1) -> None:
            found = {"ph": "X", "cat": cat, "name": title, "pid": 9, "tid": tid, "ts": start * 1e3}
            events.append({**found, "dur": (stop - start) * 1e3})  # noqa: B023

        for step in range(steps):
            at = step * STEP
            add("user_annotation", f"ProfilerStep#{step}" if numbered else "train_step", at, at + STEP)
            add("cpu_op", "aten::mkldnn_convolution", at, at + busy)
            then = calls[0][0] + after[rank] if after else max(stop for _, stop in calls)
            add("cpu_op", "aten::add_", at + then, at + then)
            for title, start, stop in more:
                add("cpu_op", title, at + start, at + stop)
            for number, (start, stop) in enumerate(calls):
                add("cpu_op", "c10d::allreduce_", at + start, at + start + 0.01)
                add("user_annotation", name, at + start, at + stop, 2 + number % 2)
        known = [{"pg_name": str(one), "pg_size": world, "ranks": list(range(world))} for one in range(groups)]
        info = {"backend": "gloo", "rank": rank, "world_size": world, "pg_config": known}
        text = json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": events})
        (folder / f"rank{rank}.json").write_text(text, encoding="utf-8")
    return open_trace(folder, Options(cache=False))


def times(trace: Trace) -> dict[int, RankTimes]:
    return {rank: Signals.of(trace.rank(rank))(rank_times) for rank in trace.ranks}


def waits(trace: Trace) -> list[float | None]:
    found = [one.waited_ns for one in times(trace).values()]
    return [None if ns is None else ns / MS for ns in found]


def test_the_rank_with_the_shortest_collective_is_late_by_what_the_others_wait(tmp_path: Path) -> None:
    """It comes to it 9 ms later, and its transfer takes a millisecond, as on the others."""
    found = times(written(tmp_path, [[(8, 18)], [(17, 18)], [(8, 18)]]))
    (late,) = late_ranks(found).values()
    assert (late.rank, late.wait_ns, late.reason, late.on_processor) == (1, 9 * MS, "host", True)
    assert late.parts == {"compute": 0, "host": 9 * MS, "copies": 0, "link": 0, "start": 0}
    first = found[0]
    assert (first.step_ns, first.compute_ns, first.exposed_comm_ns, first.idle_ns) == (20 * MS, 8 * MS, 10 * MS, 2 * MS)


def test_where_all_come_together_nobody_is_late(tmp_path: Path) -> None:
    trace = written(tmp_path, [[(8, 9.05)], [(8.05, 9.05)]])
    assert waits(trace) == [0.05, 0]
    assert late_ranks(times(trace)) == {}


def test_operators_beside_a_collective_hide_its_waiting(tmp_path: Path) -> None:
    """Of 9 ms of waiting 3 lie behind the last operator, and none where one runs until the collective ends."""
    backward = [("aten::mm", 8.02, 14.0)]
    assert waits(written(tmp_path, [[(8, 18)], [(17, 18)]], more=backward)) == [3, 0]
    assert waits(written(tmp_path, [[(8, 18)], [(17, 18)]], more=[("aten::mm", 8.02, 18.5)])) == [0, 0]


def test_operators_that_wait_for_the_library_compute_nothing(tmp_path: Path) -> None:
    """Nor do those around them; one that calls others computes between them."""
    around = [("MyAllReduce", 8.0, 19.0), ("c10d_functional::wait_tensor", 8.5, 18.0)]
    assert waits(written(tmp_path, [[(8, 18)], [(17, 18)]], more=around)) == [9, 0]
    own = [("aten::convolution_backward", 8.5, 17.5), ("aten::empty", 9, 9.1)]
    assert waits(written(tmp_path, [[(8, 18)], [(17, 18)]], more=own)) == [0, 0]


def test_what_all_ranks_do_until_the_next_operator_is_no_waiting(tmp_path: Path) -> None:
    """The gradients are exchanged while each rank does something else for 6 ms, from 8 and from 13 ms on."""
    early, late = [(8.0, 14.0)], [(13.0, 14.0)]
    assert waits(written(tmp_path, [early, late], after=[6, 6])) == [0, 0]
    assert waits(written(tmp_path, [[(8, 18)], [(17, 18)]], after=[10, 2])) == [8, 0]


def test_what_one_rank_does_behind_a_collective_is_no_waiting_in_it(tmp_path: Path) -> None:
    assert waits(written(tmp_path, [[(8, 9)], [(8, 9)]], after=[1, 8])) == [0, 0]


def test_collectives_that_wait_at_once_wait_once(tmp_path: Path) -> None:
    """Two buckets on two threads: the rank stands still from 8 to 17 ms, and a step is no longer than that."""
    assert waits(written(tmp_path, [[(8, 18), (8, 19)], [(17, 18), (17, 19)]])) == [9, 0]


def test_mpi_is_told_as_gloo_is(tmp_path: Path) -> None:
    assert waits(written(tmp_path, [[(8, 18)], [(17, 18)]], name="mpi:all_reduce")) == [9, 0]


@pytest.mark.parametrize("stated", [{"groups": 2}, {"groups": 0}, {"numbered": False}])
def test_calls_that_may_not_belong_together_tell_nothing(tmp_path: Path, stated: dict[str, Any]) -> None:
    trace = written(tmp_path, [[(8, 18)], [(17, 18)]], **stated)
    assert waits(trace) == [None, None]
    assert Signals.of(trace.rank(0)).maybe(exchanged) is None


@pytest.mark.parametrize(("ranks", "told"), [(2, True), (3, False)])
def test_of_broadcasts_among_more_than_two_some_leave_before_the_last_comes(
    tmp_path: Path, ranks: int, told: bool
) -> None:
    trace = written(tmp_path, [[(8, 18)], *[[(17, 18)]] * (ranks - 1)], name="gloo:broadcast")
    assert (waits(trace)[0] is not None) == told


def test_where_ranks_call_different_numbers_in_a_step_nobody_waits(tmp_path: Path) -> None:
    trace = written(tmp_path, [[(8, 18)], [(12, 13), (17, 18)]])
    assert late_ranks(times(trace)) == {}


def test_wording_of_a_rank_on_processors(tmp_path: Path) -> None:
    report = build_report(written(tmp_path, [[(8, 18)], [(17, 18)]], steps=6))
    (line,) = slowest(report, 10).blocks
    assert "rank 1 makes the others wait 9.00 ms per step: it spends 9.00 ms longer outside of operators" in line.text
    (finding,) = [one for one in report.findings if one.code == "CLU009"]
    assert finding.cost_ns == 9 * MS
    assert "it spends 9.00 ms longer than they do outside of operators" in finding.summary
    with speaking("zh"):
        assert told(line.text).endswith("它在算子之外多用 9.00 ms")
