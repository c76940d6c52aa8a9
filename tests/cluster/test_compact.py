"""Ranks of the bench of many ranks that are never written are as those that are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.cluster.compact import compact
from bench.cluster.planted import KINDS, planted
from bench.cluster.standins import chosen_ranks
from tests.cluster.job_support import job

from series import WHOLE
from stepscope.cluster.slow_links import slow_links
from stepscope.cluster.slow_ranks import slow_ranks
from stepscope.ingest import Options, open_trace
from stepscope.reports.build import ReportOptions, build_report
from stepscope.simulate import simulate


def _kind(name: str, ranks: int):
    return next(one for make in KINDS if (one := planted(make, ranks, 0)).kind == name)


@pytest.mark.series
@pytest.mark.skipif(not WHOLE, reason="more of the same; `make series` runs it")
def test_a_job_that_is_not_written_is_as_one_that_is_read(tmp_path: Path) -> None:
    one = _kind("slow link in a group", 4).job
    simulate(one, tmp_path / "job")
    with open_trace(tmp_path / "job", Options(store=tmp_path / "store")) as trace:
        tables = build_report(trace, ReportOptions(tables=("slow_ranks", "slow_links"), strict=True)).tables
    made = compact(one)
    known = {row["rank"]: row for row in tables["slow_ranks"].records()}
    for row in slow_ranks(made).records():
        unknown = ("waited_ns",)
        assert {key: value for key, value in row.items() if key not in unknown} == {
            key: value for key, value in known[row["rank"]].items() if key not in unknown
        }
    assert slow_links(made).records() == tables["slow_links"].records()


def test_culprits_and_whole_pipelines_are_among_the_ranks_that_are_read() -> None:
    slow = _kind("slow device", 16)
    chosen = chosen_ranks(slow, job([[1_000_000]] * 16), 4)
    assert len(chosen) == 4
    assert set(slow.ranks) <= set(chosen)
    uneven = _kind("uneven stages", 8)
    assert chosen_ranks(uneven, job([[1_000_000]] * 8), 4) in ([0, 2, 4, 6], [1, 3, 5, 7])
