"""Runs, ranks and spans: whose each recording of an input is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.ingest.whose.choice import choose
from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.notes import notes
from stepscope.model.errors import UserError
from stepscope.model.recording import Recording

HOUR = 3600 * 10**9


def found(
    path: str,
    rank: int | None = None,
    at: int | None = None,
    *,
    host: str | None = None,
    timed: bool = True,
    **more: object,
) -> FoundRecordings:
    """A recording that lasts a second, from hour `at` of the epoch."""
    origin = None if at is None else at * HOUR
    between = None if origin is None else (origin, origin + 10**9)
    recording = Recording(path, "kineto" if timed else "memsnapshot", rank, host=host, origin_unix_ns=origin, **more)
    return FoundRecordings(recording, Path(path), Path("store"), timed, lambda: between)


def places(recordings: list[FoundRecordings], **asked: Any) -> list[tuple[str, str, int, int, bool]]:
    chosen = choose(recordings, **asked)
    order = {id(one.recording): position for position, one in enumerate(recordings)}
    listed = sorted(chosen.places, key=lambda place: order[id(place.recording)])
    return [(p.recording.source, p.run, p.rank, p.span, p.analysed) for p in listed]


def codes(recordings: list[FoundRecordings], **asked: Any) -> list[str]:
    return [note[0] for note in notes(recordings, choose(recordings, **asked))]


@pytest.mark.parametrize(
    ("recorded", "names", "ranks", "said"),
    [
        ([1, 0], ["a", "b"], [1, 0], []),
        ([None], ["rank5.json"], [0], []),
        ([None, None], ["run/rank1.json", "run/rank0.json"], [1, 0], ["rank-unknown"]),
        ([None, None], ["rank_1/trace.json", "rank_0/trace.json"], [1, 0], ["rank-unknown"]),
        ([None, None], ["worker3_step_12.1694.json", "worker4_step_12.1694.json"], [3, 4], ["rank-unknown"]),
        ([None, None], ["gpu-7_81.1694000000123.pt.trace.json", "gpu-7_82.1694000000124.pt.trace.json"], [0, 1],
         ["rank-unknown"]),
        ([None, None], ["x.json", "y.json"], [0, 1], ["rank-unknown"]),
        ([0, 0, 1], ["a", "b", "c"], [0, 2, 1], ["rank-conflict"]),
        ([-1, 2**40], ["a", "b"], [0, 1], []),
        ([None, 1], ["rank1.json", "b"], [0, 1], ["rank-conflict", "rank-unknown"]),
    ],
)  # fmt: skip
def test_ranks(recorded: list[int | None], names: list[str], ranks: list[int], said: list[str]) -> None:
    recordings = [found(name, rank) for rank, name in zip(recorded, names, strict=True)]
    assert [(run, rank, span) for _, run, rank, span, _ in places(recordings)] == [("", rank, 1) for rank in ranks]
    assert codes(recordings) == said


@pytest.mark.parametrize(
    ("names", "severity"),
    [
        (["x.json", "y.json"], "warning"),
        (["rank1.json", "rank0.json"], "info"),
        (["gpu-7_81.1694000000123.pt.trace.json", "gpu-7_82.1694000000124.pt.trace.json"], "info"),
    ],
)
def test_a_warning_says_that_the_order_alone_gave_ranks(names: list[str], severity: str) -> None:
    recordings = [found(name, None) for name in names]
    assert [note[:2] for note in notes(recordings, choose(recordings))] == [("rank-unknown", severity)]


def test_repeats_of_one_rank_are_its_spans() -> None:
    recordings = [found("host_9_20250101000000_ascend_pt", 0, 2), found("host_9_20250101010000_ascend_pt", 0, 1)]
    assert places(recordings) == [
        ("host_9_20250101000000_ascend_pt", "", 0, 2, True),
        ("host_9_20250101010000_ascend_pt", "", 0, 1, False),
    ]
    assert codes(recordings) == ["spans"]
    assert [place[4] for place in places(recordings, span=1)] == [False, True]


def test_repeats_of_two_ranks_make_no_further_ranks() -> None:
    recordings = [found(f"w{rank}_{at}", rank, at) for at in (1, 2) for rank in (0, 1)]
    assert list(choose(recordings).ranks) == [0, 1]
    assert [one.recording.source for group in choose(recordings).ranks.values() for one in group] == ["w0_2", "w1_2"]


def test_the_span_that_most_ranks_have_is_analysed() -> None:
    recordings = [found("a", 0, 1), found("b", 0, 2), found("c", 1, 1)]
    assert [place[4] for place in places(recordings)] == [True, False, True]
    assert list(choose(recordings, span=2).ranks) == [0]
    assert codes(recordings, span=2) == ["spans", "span-missing"]


@pytest.mark.parametrize("span", [0, 3])
def test_a_span_that_is_not_there(span: int) -> None:
    with pytest.raises(UserError, match="spans 1 to 2"):
        choose([found("a", 0, 1), found("b", 0, 2)], span=span)
    with pytest.raises(UserError, match="each rank was recorded once"):
        choose([found("a", 0, 1)], span=2)


def test_workers_without_ranks_have_spans_in_the_order_of_their_names() -> None:
    names = [f"node_{pid}.{ms}.pt.trace.json" for ms in (1694000000456, 1694000000123) for pid in (7, 8)]
    assert [(rank, span) for _, _, rank, span, _ in places([found(name) for name in names])] == [
        (0, 2), (1, 2), (0, 1), (1, 1),
    ]  # fmt: skip


def test_at_the_same_time_one_rank_is_two() -> None:
    assert codes([found("a", 0, 1, events=4), found("b", 0, 1, events=5)]) == ["rank-conflict"]


def test_the_same_recording_in_two_files_is_one() -> None:
    recordings = [found("trace.json", 0, 1, events=4), found("trace.json.gz", 0, 1, events=4)]
    assert places(recordings) == [("trace.json", "", 0, 1, True)]
    assert codes(recordings) == ["recording-repeated"]


def test_folders_whose_ranks_clash_are_runs() -> None:
    recordings = [found(f"{run}/r{rank}.json", rank, at) for run, at in (("new", 3), ("base", 2)) for rank in (0, 1)]
    assert [(run, rank, span) for _, run, rank, span, _ in places(recordings)] == [
        ("new", 0, 1), ("new", 1, 1), ("base", 0, 1), ("base", 1, 1),
    ]  # fmt: skip
    assert choose(recordings).run == "new"
    assert choose(recordings, run="base/").run == "base"
    assert codes(recordings) == ["runs"]
    with pytest.raises(UserError, match="did you mean base"):
        choose(recordings, run="bas")


def test_recordings_of_other_hours_without_ranks_are_runs() -> None:
    recordings = [found("before.json", None, 1), found("after.json", None, 2)]
    assert choose(recordings).runs == ("after.json", "before.json")
    assert [(p[0], p[4]) for p in places(recordings)] == [("before.json", False), ("after.json", True)]
    assert [(p[0], p[4]) for p in places(recordings, run="before.json")] == [
        ("before.json", True),
        ("after.json", False),
    ]
    assert codes(recordings) == ["runs"]


@pytest.mark.parametrize(
    ("recordings", "runs"),
    [
        ([found("x.json", None, 1), found("y.json", None, 1, events=4)], ("",)),
        ([found("x.json", None, 1), found("y.json", None)], ("",)),
        ([found("rank0.json", None, 1), found("rank1.json", None, 2)], ("",)),
        ([found("x.json", None, 1), found("memory.pickle", None, 2, timed=False)], ("",)),
        ([found("r0.json", 0, 1), found("r1.json", 1, 1), found("other.json", None, 9)], (".", "other.json")),
        ([found("a/x.json", None, 1), found("b/x.json", None, 2)], ("a/x.json", "b/x.json")),
    ],
)
def test_ranks_of_one_job_are_recorded_at_the_same_time(
    recordings: list[FoundRecordings], runs: tuple[str, ...]
) -> None:
    assert choose(recordings).runs == runs


def test_runs_are_divided_no_deeper_than_needed() -> None:
    recordings = [found(f"{run}/rank{rank}/t.json", rank, 1) for run in ("a", "b") for rank in (0, 1)]
    assert choose(recordings).runs == ("a", "b")
    assert choose([found(f"x/rank{rank}/t.json", rank, 1) for rank in (0, 1)]).runs == ("",)


def test_hosts_that_number_their_ranks_alike_are_no_runs() -> None:
    recordings = [found(f"{host}/r0.json", 0, 1, host=host, events=n) for n, host in enumerate(("n1", "n2"))]
    assert list(choose(recordings).ranks) == [0, 1]
    assert codes(recordings) == ["rank-conflict"]


def test_processes_of_one_file_are_ranks() -> None:
    recordings = [found("rank3.sqlite", None, 1, parts=("pid 8",)), found("rank3.sqlite", None, 1, part="pid 8")]
    assert list(choose(recordings).ranks) == [0, 1]


def test_a_memory_snapshot_belongs_to_the_only_rank() -> None:
    recordings = [found("m.pickle", None, 1, timed=False), found("t.json", 5, 1)]
    assert {rank: [one.recording.source for one in group] for rank, group in choose(recordings).ranks.items()} == {
        5: ["t.json", "m.pickle"]
    }
    assert codes(recordings) == ["snapshot-added"]


def test_memory_snapshots_of_several_ranks() -> None:
    recordings = [found(f"{kind}_rank{rank}", rank if kind == "t" else None, 1, timed=kind == "t")
                  for kind in ("t", "m") for rank in (0, 1)]  # fmt: skip
    assert {rank: len(group) for rank, group in choose(recordings).ranks.items()} == {0: 2, 1: 2}


def test_the_last_of_several_memory_snapshots_is_analysed() -> None:
    recordings = [found("t.json", 0, 1), found("rank0_b.pickle", None, 2, timed=False),
                  found("rank0_a.pickle", None, 3, timed=False)]  # fmt: skip
    assert [one.recording.source for one in choose(recordings).ranks[0]] == ["t.json", "rank0_a.pickle"]
    assert codes(recordings) == ["snapshot-added", "snapshots-older"]


def test_memory_snapshots_alone_are_ranks() -> None:
    recordings = [found(f"{name}.pickle", timed=False) for name in "ab"]
    assert list(choose(recordings).ranks) == [0, 1]
