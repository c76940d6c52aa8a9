"""The critical path across ranks: through whoever came last, in intervals that tile the step."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from stepscope.analyses.stepgraph.building.nodes import DEVICE
from stepscope.cluster.critical.chosen import median_step
from stepscope.cluster.critical.intervals import FINE, MixedSegment, PathInterval, joined
from stepscope.cluster.critical.matched_calls import MatchedCall
from stepscope.cluster.critical.rank_path import PathStop, RankPath, _by_node
from stepscope.cluster.critical.walk import across_ranks
from stepscope.ingest import Options, open_trace
from stepscope.reports.build import ReportOptions, build_report
from stepscope.simulate import SimJob, simulate

GEMM, HOST = ("kernel", "gemm"), ("host", "python")
KEY = ("all_reduce", "0", 1024, 7)


def did(start, end, what):
    return PathInterval(start, end, *what, end - start, None)


def rank_path(call_start, other, what, *, start=0, end=1000, key=KEY, message=False):
    """A step in which a rank does one thing, then calls a collective that ends at 900, and then computes."""
    call = MatchedCall(key, other, message)
    own = (did(call_start, 900, ("communication", "moving data")),)
    before = (did(start, call_start, what),)
    leaves = not message and other != 5
    stop = PathStop(call_start, call, own, () if leaves else before, -1, call_start if leaves else start)
    return RankPath(3, start, end, (PathStop(end, None, (), (did(900, end, GEMM),), 1, 900), stop))


def walked(paths, shift=None):
    """Rank, length, part and waiting of each interval, which are checked to tile the step."""
    found = across_ranks(paths, shift or dict.fromkeys(paths, 0))
    assert [one.start for one in found] == [0, *(one.end for one in found[:-1])]
    assert all(one.end > one.start and one.part_ns <= one.end - one.start for one in found)
    return [(one.rank, one.end - one.start, one.part, one.from_rank, one.waited_ns) for one in found]


def test_the_path_comes_from_the_rank_that_came_last_to_a_collective():
    """Rank 0 ends last, and has waited 500 ns for rank 5 in the collective before."""
    paths = {0: rank_path(200, 5, GEMM, end=1010), 5: rank_path(700, 5, HOST)}
    expected = [(5, 700, "host", None, None), (0, 200, "communication", 5, 500), (0, 110, "kernel", None, None)]
    assert walked(paths) == expected
    # So it is where clocks differ by a millisecond that is known.
    ahead = {0: paths[0], 5: rank_path(700 + 10**6, 5, HOST, start=10**6, end=1000 + 10**6)}
    shifted = ahead[5].stops[1]._replace(before=(did(10**6, 700 + 10**6, HOST),))
    ahead[5] = RankPath(3, 10**6, 1000 + 10**6, (ahead[5].stops[0], shifted))
    assert walked(ahead, {0: 0, 5: -(10**6)}) == expected


def test_the_path_stays_on_the_rank_that_came_last():
    paths = {0: rank_path(200, 5, GEMM), 5: rank_path(700, 5, HOST, end=1010)}
    assert walked(paths) == [
        (5, 700, "host", None, None), (5, 200, "communication", None, None), (5, 110, "kernel", None, None),
    ]  # fmt: skip


def test_a_rank_whose_step_starts_later_is_told_from_work():
    paths = {0: rank_path(200, 5, GEMM, end=1010), 5: rank_path(700, 5, HOST, start=300)}
    assert walked(paths)[:2] == [(5, 300, "unknown", None, None), (5, 400, "host", None, None)]


def test_clocks_that_are_wrong_leave_no_gap():
    """By its clock the last rank came 50 ns after the others had left."""
    paths = {0: rank_path(200, 5, GEMM, end=1300), 5: rank_path(700, 5, HOST)}
    assert walked(paths, {0: 0, 5: 250}) == [
        (5, 250, "unknown", None, None), (5, 650, "host", None, None), (0, 400, "kernel", 5, 700),
    ]  # fmt: skip


def test_the_path_ends_where_a_rank_did_not_tell():
    assert walked({0: rank_path(200, 5, GEMM)}) == [
        (0, 200, "unknown", None, None), (0, 700, "communication", None, None), (0, 100, "kernel", None, None),
    ]  # fmt: skip


@pytest.mark.parametrize(("sent", "through"), [(700, 5), (200, 0), (100, 0)])
def test_a_receive_waits_for_a_send_that_came_later(sent, through):
    key = ("send", "7", 5, 0, 1)
    paths = {
        0: rank_path(200, 5, GEMM, end=1010, key=key, message=True), 5: rank_path(sent, 0, HOST, key=key, message=True),
    }  # fmt: skip
    first = walked(paths)[0]
    assert (first[0], first[1]) == (through, sent if through == 5 else 200)


def test_what_is_short_is_put_together_and_still_adds_up():
    """A thousand kernels of 9 ns with gaps of 1 ns, and one of 20 µs."""
    segments = [MixedSegment(10 * at, 10 * at + 9, Counter({GEMM: 9}), at, 9) for at in range(1000)]
    segments += [MixedSegment(10 * at + 9, 10 * at + 10, Counter({HOST: 1}), -1, 1) for at in range(1000)]
    segments.append(MixedSegment(10_000, 30_000, Counter({HOST: 20_000}), 5000, 20_000))
    found = joined(sorted(segments, key=lambda segment: -segment.start), 0)
    assert [(segment.end - segment.start, segment.label, segment.mix[segment.label]) for segment in found] == [
        (20_001, HOST, 20_001), (9_999, GEMM, 9000),
    ]  # fmt: skip
    every = [MixedSegment(at, at + 1, Counter({(f"{at}", None): 1}), -1, 1) for at in range(999, -1, -1)]
    assert len(joined(every, 0)) <= 2 * FINE + 1
    assert len(joined(every[: 2 * FINE + 1], 0)) == 2 * FINE + 1


def test_the_median_step_is_typical_and_on_all_ranks():
    one = {1: (900, False), 2: (100, True), 3: (300, True), 4: (200, True), 5: (1, True)}
    other = {1: (900, True), 2: (110, True), 3: (290, True), 4: (400, True)}
    assert median_step({0: one, 1: other}) == 3  # the longest of each: 110, 300 and 400
    assert median_step({0: one, 1: other}, (1,)) == 1
    assert median_step({0: one, 1: other}, (2, 4)) == 2
    assert median_step({0: one}, (9,)) is None


def table(trace, **options):
    rows = build_report(trace, ReportOptions(tables=("cluster_critical_path",), strict=True, **options)).tables
    found = rows["cluster_critical_path"].records()
    assert [row["start_ns"] for row in found] == [0, *(row["start_ns"] + row["total_ns"] for row in found[:-1])]
    return found


def test_the_stages_of_a_simulated_pipeline(tmp_path):
    """The device sets the pace: forward on stage 0, all of stage 1, backward on stage 0."""
    job = SimJob(ranks=2, layers=2, steps=2, hidden=4096, sequence=2048, stages=2, micro_batches=2, batch=2)
    simulate(job, tmp_path / "job")
    with open_trace(tmp_path / "job", Options(cache=False)) as trace:
        rows = table(trace)
    crossings = [(row["from_rank"], row["rank"], row["collective"]) for row in rows if row["from_rank"] is not None]
    assert crossings == [(0, 1, "send"), (1, 0, "send")]
    assert all(row["waited_ns"] > 0 for row in rows if row["from_rank"] is not None)


def test_matched_calls_are_those_of_devices_within_the_step() -> None:
    ends = {"before": (DEVICE, 0, 10), "first": (DEVICE, 5, 11), "last": (DEVICE, 19, 30), "after": (DEVICE, 20, 30),
            "host": (DEVICE + 1, 12, 15)}  # fmt: skip
    kind, start, end = (np.array(column) for column in zip(*ends.values(), strict=True))
    nodes = SimpleNamespace(kind=kind, start=start, end=end, event=np.arange(len(ends)) + 100)
    built = SimpleNamespace(graph=SimpleNamespace(nodes=nodes))
    known = {event + 100: name for event, name in enumerate(ends)}
    assert _by_node(built, known, 10, 20) == {1: "first", 2: "last"}  # type: ignore[arg-type]
