"""Ranks analysed by workers: the same report as without them, whatever becomes of a rank or a worker."""

from __future__ import annotations

import dataclasses
import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from stepscope.analyses.communication.given_groups import GivenGroup
from stepscope.cli.speed import quicken_imports
from stepscope.cluster.rank_parts import PARTS
from stepscope.ingest import Options, open_trace
from stepscope.ingest.workers import Workers, processes
from stepscope.model.errors import UserError
from stepscope.model.sizes import SIZES
from stepscope.reports.build import ReportOptions, build_report
from stepscope.simulate import SimJob, simulate

JOB = SimJob(ranks=4, layers=1, steps=3, slow_rank=2, slow_factor=3.0, ranks_per_host=2, clock_offset_ns=3_000_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("four")
    simulate(JOB, out)
    return out


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def opened(folder, store):
    with open_trace(folder, Options(store=store)) as trace:
        yield trace


@pytest.fixture(scope="module")
def here(opened):
    return build_report(opened, ReportOptions(strict=True))


class Kept(Workers):
    """Workers that several reports use."""

    def close(self) -> None:
        pass


def who_makes_classes(_: object) -> str:
    return dataclasses.dataclass.__module__


@pytest.fixture(scope="module")
def kept():
    """As the command line has them: quick to import, while this process is not."""
    with pytest.MonkeyPatch.context() as patch, processes(2, 1) as workers:
        patch.setattr("stepscope.ingest.workers.STARTING", [quicken_imports])
        assert workers.submit(who_makes_classes, None).result() == "stepscope.cli.speed"
        assert who_makes_classes(None) == "dataclasses"
        yield lambda *_: Kept(workers.size, lambda: workers)  # type: ignore[arg-type, return-value]


def same(left, right) -> None:
    assert left.to_json() == right.to_json()
    assert {name: table.arrow for name, table in left.tables.items()} == {
        name: table.arrow for name, table in right.tables.items()
    }


def test_the_report_is_the_same(opened, here, kept):
    with SIZES.changed(joined_ranks=1, kept_tables=20_000):
        by_workers = build_report(opened, ReportOptions(strict=True, workers=kept))
    same(here, by_workers)
    slow = next(finding for finding in by_workers.findings if finding.code == "CLU001")
    assert slow.evidence.ranks[0] == 2
    # The device of rank 2 sets the pace all through, whatever clocks say.
    path = by_workers.tables["cluster_critical_path"].records()
    assert {row["rank"] for row in path} == {2}
    step = max(
        row["end_ns"] - row["start_ns"]
        for row in by_workers.tables["step_budget"].records()
        if row["step"] == path[0]["step"]
    )
    assert sum(row["total_ns"] for row in path) >= step


@pytest.mark.parametrize("options", [{"steps": (1, 2), "ranks": (0, 2)}, {"tables": ("collectives",)}], ids=repr)
def test_a_part_of_the_report_is_the_same(opened, kept, options):
    options = ReportOptions(strict=True, page=True, **options)
    same(build_report(opened, options), build_report(opened, replace(options, workers=kept)))


def test_stated_pipelines_say_who_is_held_against_whom(opened, kept):
    """Rank 2 is slow; stated to be the first stage of the second pipeline, it is held against rank 0 alone."""
    stated = (GivenGroup("pipeline", (0, 1), ""), GivenGroup("pipeline", (2, 3), ""))
    options = ReportOptions(strict=True, tables=("slow_ranks",), groups=stated)
    told = build_report(opened, options)
    same(told, build_report(opened, replace(options, workers=kept)))
    rows = {row["rank"]: row for row in told.tables["slow_ranks"].records()}
    assert [rows[rank]["stage"] for rank in range(4)] == [0, 1, 0, 1]
    assert rows[2]["compute_ratio"] == rows[2]["compute_ns"] / rows[0]["compute_ns"]
    [unstated] = {row["stage"] for row in build_report(opened, replace(options, groups=())).rows("slow_ranks")}
    assert unstated is None


def test_a_rank_or_step_that_is_not_there_is_an_error(opened, kept):
    for options in ({"ranks": (9,)}, {"steps": (99,)}):
        with pytest.raises(UserError, match="the input has no"):
            build_report(opened, ReportOptions(workers=kept, **options))


def killing(path: Path, then: Workers, tasks: int, memory: int) -> Workers:
    """A worker that is killed, and others in its place."""

    def made():
        if path.exists():
            return then
        path.touch()
        executor = processes(1, memory).make()
        executor.submit(os.kill, executor.submit(os.getpid).result(), signal.SIGKILL)
        return executor

    return Kept(2, made)


def test_a_worker_that_dies_costs_a_retry(opened, kept, tmp_path):
    options = ReportOptions(strict=True, tables=("collectives",))
    dying = replace(options, workers=partial(killing, tmp_path / "killed", kept()))
    same(build_report(opened, options), build_report(opened, dying))
    assert (tmp_path / "killed").exists()


def test_a_rank_that_cannot_be_opened_is_left_out(folder, tmp_path, kept):
    with SIZES.changed(joined_ranks=1), open_trace(folder, Options(store=tmp_path)) as trace:
        lost = next(path for path in tmp_path.rglob("manifest.json") if trace.recordings[3].source in path.read_text())
        lost.unlink()
        report = build_report(trace, ReportOptions(tables=("step_budget",), workers=kept))
    assert list(report.sources) == [0, 1, 2]
    [line] = [line for line in report.health if line.code == "rank-failed"]
    assert (line.rank, line.severity) == (3, "error")
    assert {row["rank"] for row in report.tables["step_budget"].records()} == {0, 1, 2}


def test_what_was_read_before_an_interruption_is_not_read_again(folder, tmp_path, monkeypatch):
    from stepscope.ingest import reading

    read: list[str] = []
    original = reading.read_recording

    def interrupted(reader, source, *rest):
        if len(read) == 2:
            raise KeyboardInterrupt
        read.append(source.path.name)
        original(reader, source, *rest)

    monkeypatch.setattr(reading, "read_recording", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_trace(folder, Options(store=tmp_path))
    monkeypatch.setattr(reading, "read_recording", lambda reader, source, *rest: (
        read.append(source.path.name), original(reader, source, *rest)))  # fmt: skip
    open_trace(folder, Options(store=tmp_path)).close()
    assert sorted(read) == [f"rank{rank}.pt.trace.json" for rank in range(4)]


def test_a_rank_whose_times_cannot_be_found_is_said(opened, monkeypatch):
    def fails(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(PARTS, "times", fails)
    report = build_report(opened, ReportOptions(tables=("step_budget", "slow_ranks")))
    assert "analysis-failed" in [line.code for line in report.health]
    assert report.computed("step_budget")
