"""Jobs whose sums are read without events: which ranks, which run and span, and when all is read instead."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from bench.damage.small_ascend import write_text

from stepscope.ingest import Options
from stepscope.ingest.summed import SummedJob, summed_job
from stepscope.model.errors import UserError
from stepscope.model.sums.rank import RankSummaries
from stepscope.model.trace import Trace

SECOND = 10**9


def rank(folder: Path, number: int, start: int | None = None) -> None:
    """A result of a rank, one second long, with a table of steps; its start in seconds."""
    output = write_text(folder, number)
    (output / "step_trace_time.csv").write_text("Step,Computing\n7,100.5\n")
    if start is not None:
        info = {"rank_id": number, "start_info": {"start_monotonic": 0},
                "end_info": {"collectionTimeEnd": (start + 1) * SECOND, "MonotonicTimeEnd": SECOND}}  # fmt: skip
        (folder / f"profiler_info_{number}.json").write_text(json.dumps(info))


def chosen(job: SummedJob | None) -> dict[int, str]:
    assert job is not None
    return {number: source.path.name for number, (_, source) in job.ranks.items()}


def test_one_recording_of_each_rank_needs_no_times(tmp_path: Path) -> None:
    rank(tmp_path / "a_ascend_pt", 1)
    rank(tmp_path / "b_ascend_pt", 0)
    (tmp_path / "notes.txt").write_text("no recording")
    assert chosen(summed_job([tmp_path], Options())) == {0: "b_ascend_pt", 1: "a_ascend_pt"}


def test_of_several_spans_the_last_or_the_one_asked_for(tmp_path: Path) -> None:
    rank(tmp_path / "a_ascend_pt", 0, start=200)
    rank(tmp_path / "b_ascend_pt", 0, start=100)
    assert chosen(summed_job([tmp_path], Options())) == {0: "a_ascend_pt"}
    assert chosen(summed_job([tmp_path], Options(span=1))) == {0: "b_ascend_pt"}
    with pytest.raises(UserError, match="no span 3"):
        summed_job([tmp_path], Options(span=3))


def test_of_several_runs_the_last_or_the_one_asked_for(tmp_path: Path) -> None:
    for run, start in (("x", 200), ("y", 100)):
        for number in (0, 1):
            rank(tmp_path / run / f"{run}{number}_ascend_pt", number, start)
    assert chosen(summed_job([tmp_path], Options())) == {0: "x0_ascend_pt", 1: "x1_ascend_pt"}
    assert chosen(summed_job([tmp_path], Options(run="y"))) == {0: "y0_ascend_pt", 1: "y1_ascend_pt"}


def test_what_only_whole_recordings_tell(tmp_path: Path) -> None:
    """Which of two undated recordings of a rank came first, and whose a single file is."""
    for name in ("a", "b"):
        rank(tmp_path / f"{name}_ascend_pt", 0)
    assert summed_job([tmp_path], Options()) is None
    assert summed_job([tmp_path / "a_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"], Options()) is None


def test_a_rank_with_a_broken_file_is_read_as_a_whole(tmp_path: Path) -> None:
    said: list[str] = []
    for number in range(3):
        rank(tmp_path / f"{number}_ascend_pt", number)
    (tmp_path / "1_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").write_text("Step,Computing\n7,100")
    shutil.rmtree(tmp_path / "2_ascend_pt" / "ASCEND_PROFILER_OUTPUT")
    (tmp_path / "2_ascend_pt" / "ASCEND_PROFILER_OUTPUT").mkdir()
    (tmp_path / "2_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_text("Name\nx")
    job = summed_job([tmp_path], Options(store=tmp_path / "store", say=said.append))
    assert job is not None
    with job.rank(0) as sums:
        assert isinstance(sums, RankSummaries)
    assert said == []
    assert not (tmp_path / "store").exists()
    with job.rank(1) as whole:
        assert isinstance(whole, Trace)
        assert whole.scalar("SELECT value FROM recorded WHERE metric = 'Computing'") == 100
    with job.rank(2) as nothing:
        assert nothing is None
    assert ["step_trace_time.csv" in said[0], "left out" in said[2], len(said)] == [True, True, 3]
