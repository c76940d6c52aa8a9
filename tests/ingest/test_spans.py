"""Several recordings of the same ranks: opened as one trace without further ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import stepscope
from series import series
from stepscope.simulate import SimJob, simulate

TWICE = SimJob(device="ascend910b2", ranks=2, steps=3, model="mlp", layers=2)


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What torch_npu writes with `repeat=2`: two folders of each rank's worker."""
    folder = tmp_path_factory.mktemp("repeat")
    for warmup in (2, 40):
        simulate(replace(TWICE, warmup_steps=warmup), folder / f"{warmup}", format="ascend")
        for result in (folder / f"{warmup}").glob("*_ascend_pt"):
            worker, _, rest = result.name.partition("_2026")
            (folder / "job").mkdir(exist_ok=True)
            result.rename(folder / "job" / f"{worker}_2026{warmup:02}{rest[2:]}")
    return folder / "job"


@pytest.mark.parametrize("ranks", series([2, 1], 1))
def test_repeats_invent_no_rank_and_no_cluster_finding(repeated: Path, tmp_path: Path, ranks: int) -> None:
    for result in sorted(repeated.iterdir(), key=lambda result: result.name):
        if ranks == 2 or "_4100_" in result.name:
            (tmp_path / result.name).symlink_to(result)
    with stepscope.open(tmp_path, store=tmp_path / "store") as trace:
        assert trace.ranks == tuple(range(ranks))
        report = trace.analyze()
        assert [place.span for place in trace.places if place.analysed] == [2] * ranks
        assert sorted((place.rank, place.span) for place in trace.places) == [
            (rank, span) for rank in range(ranks) for span in (1, 2)
        ]
    assert {finding.family for finding in report.findings if finding.shown} & {"cluster"} == set()
    assert {line.code for line in report.health} >= {"spans"}
    assert not {line.code for line in report.health} & {"rank-conflict", "rank-unknown"}
    with stepscope.open(tmp_path, span=1, store=tmp_path / "store") as trace:
        first = trace.steps.records()
    assert len(first) == ranks * TWICE.steps


def test_a_memory_snapshot_adds_to_the_trace_of_its_rank(tmp_path: Path) -> None:
    job = SimJob(steps=3, model="mlp", layers=2)
    simulate(job, tmp_path / "trace.json", format="kineto")
    simulate(job, tmp_path / "memory.pickle", format="memsnapshot")
    with stepscope.open(tmp_path / "trace.json", cache=False) as trace:
        steps, health = trace.steps.records(), len(trace.table("health"))
    with stepscope.open([tmp_path / "memory.pickle", tmp_path / "trace.json"], cache=False) as trace:
        assert trace.ranks == (0,)
        assert trace.recordings[0].reader == "kineto"
        assert trace.steps.records() == steps
        assert len(trace.table("health")) > health
        report = trace.analyze()
        inside = trace.sql(
            "SELECT count(*) FROM allocator_events a, steps s WHERE a.ts BETWEEN s.ts AND s.ts + s.dur"
        ).to_pylist()[0]["count_star()"]
    assert len(report.table("memory_snapshot"))
    assert inside, "the two clocks are one"
    assert not [one for one in report.abstentions if one.failed]
