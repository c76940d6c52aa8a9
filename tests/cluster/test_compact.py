"""Ranks of the bench of many ranks that are never written are as those that are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench.cluster.compact import compact
from bench.cluster.kept import Kept
from bench.cluster.planted import KINDS, planted
from bench.cluster.standins import chosen_ranks, in_place_of
from bench.cluster.verdict import Verdict
from tests.cluster.job_support import job

from series import WHOLE
from stepscope.analyses.communication.called import calls_of
from stepscope.cluster.messages import MessageKey
from stepscope.cluster.slow_links import slow_links
from stepscope.cluster.slow_ranks import slow_ranks
from stepscope.ingest import Options, open_trace
from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.ranks.question import RankResult
from stepscope.rules.engine import Diagnosing
from stepscope.signals import Signals
from stepscope.signals.communication.link_rates import LikeCollectives, Pair, groups, pairs
from stepscope.signals.communication.pipeline import StageTimes, stage
from stepscope.simulate import SimJob, simulate


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
    first, drawn = chosen_ranks(slow, job([[1_000_000]] * 16), 4)
    assert (len(first), len(drawn)) == (2, 2)
    assert set(slow.ranks) <= set(first)
    uneven = _kind("uneven stages", 8)
    assert chosen_ranks(uneven, job([[1_000_000]] * 8), 4) in (([], [0, 2, 4, 6]), ([], [1, 3, 5, 7]))


def test_both_ends_of_a_link_stand_for_themselves_alone() -> None:
    """Else the other ranks would have a slow link, too."""
    slow = _kind("slow link of a pair", 64)
    for seed in range(20):
        first, drawn = chosen_ranks(replace(slow, job=replace(slow.job, noise_seed=seed)), job([[1_000_000]] * 64), 3)
        assert (set(first), len(drawn)) == (set(slow.ranks), 1)


@pytest.mark.series
@pytest.mark.skipif(not WHOLE, reason="more of the same; `make series` runs it")
def test_calls_of_ascend_are_numbered_as_those_that_are_read(tmp_path: Path) -> None:
    one = SimJob(ranks=2, layers=1, hidden=64, heads=2, sequence=64, batch=2, steps=3, device="ascend910b2")
    simulate(one, tmp_path / "job", "ascend")
    made = compact(one, format="ascend").collectives
    with open_trace(tmp_path / "job", Options(store=tmp_path / "store")) as trace:
        for rank in trace.ranks:
            calls = calls_of(trace.rank(rank))
            shortest, devices = made.of(calls)
            assert calls["event"].size
            assert np.all((shortest > 0) & (shortest <= calls["dur"]))
            assert set(devices.tolist()) == {2}


@pytest.mark.parametrize(("dst", "moved"), [(1, 7), (3, 1), (9, 15)])
def test_a_rank_that_was_not_read_has_its_own_groups_and_links(dst: int, moved: int) -> None:
    like = LikeCollectives("[0, 1, 2, 3]", "all_reduce", 1 << 20, 4, 1.0, 1000, 1.0)
    outer = LikeCollectives("[0, 4, 8, 12]", "all_reduce", 1 << 20, 4, 1.0, 1000, 1.0)
    sent = Diagnosing()
    sent._sealed[0] = Signals(0, _known={groups: (like, outer), pairs: (Pair(0, dst, "HCCS", 100, 10, 1.0),)})
    sent._sealed_whole[0] = Signals(0)
    read = RankResult(0, {}, [], None, [], [], {"times": None}, sent)
    found = in_place_of(SimJob(ranks=16, inner_ranks=4), read, 0, 6)
    assert found.diagnosing is not None
    signals = found.diagnosing._sealed[6]
    assert [one.ranks for one in signals(groups)] == ["[4, 5, 6, 7]", "[2, 6, 10, 14]"]
    assert [(one.src, one.dst) for one in signals(pairs)] == [(6, moved)]
    assert "times" not in found.parts


def test_a_rank_of_a_pipeline_that_was_not_read_has_its_own_pipeline() -> None:
    """Of 8 ranks in two stages rank 6 stands in for rank 7."""
    like = LikeCollectives("[2, 6]", "send", 1 << 20, 2, 8.0, 1000, 1.0)
    place = StageTimes("5", (2, 6), 1, 8.0, 4.0, 0, 1000, True, np.empty(0, np.int64))
    sent = Diagnosing()
    sent._sealed[6] = Signals(6, _known={groups: (like,), stage: place})
    sent._sealed_whole[6] = Signals(6)
    message = {MessageKey("send", "5", 2, 6, 1, 1): (100, 10)}
    read = RankResult(6, {}, [], None, [], [], {"messages": message}, sent)
    found = in_place_of(SimJob(ranks=8, stages=2, layers=2), read, 6, 7)
    assert found.diagnosing is not None
    signals = found.diagnosing._sealed[7]
    assert [one.ranks for one in signals(groups)] == ["[3, 7]"]
    assert (signals(stage).group, signals(stage).ranks) == ("6", (3, 7))
    assert found.parts["messages"] == {MessageKey("send", "6", 3, 7, 1, 1): (100, 10)}


def test_a_series_that_is_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    one, other = _kind("slow device", 8), _kind("slow host", 8)
    path = tmp_path / "verdicts.jsonl"
    Kept(path, 3).add(Verdict(one, True, None, "nothing"))
    Kept(path, 3).add(Verdict(other, False, True, "COM001"))
    assert Kept(path, 3).of(one) == Verdict(one, True, None, "nothing")
    assert Kept(path, 3).of(other) == Verdict(other, False, True, "COM001")
    assert Kept(path, 0).of(one) is None
    assert Kept(path, 3).of(_kind("healthy", 8)) is None
