"""Export of cluster outputs: equal to those of Ascend's own tool."""

from __future__ import annotations

import csv
import json
import statistics
from collections import defaultdict
from contextlib import nullcontext

import pytest
from tests.support import shared

from stepscope.ingest import Options, open_trace
from stepscope.ingest.summed import summed_job
from stepscope.model.errors import UserError
from stepscope.reports.exports import ascend_cluster
from stepscope.reports.exports.ascend_rank import sums_of
from stepscope.simulate import SimJob, simulate

EXPECTED = "ascend/expected_cluster_level1"
FILES = ("cluster_communication.json", "cluster_communication_matrix.json", "communication_group.json")


def write(path, out, store, whole=False, steps=()):
    """Write the files from the profiler's sums alone, or from whole recordings; returns what was said."""
    said = []
    out.mkdir()
    options = Options(store=store, say=said.append)
    with open_trace(path, options) if whole else nullcontext(summed_job([path], options, bool(steps))) as job:

        def ranks():
            for rank in job.ranks:
                with nullcontext(job.rank(rank)) if whole else job.rank(rank) as one:
                    yield sums_of(rank, one, steps or None)

        ascend_cluster.write(ranks(), out, steps)
    return said


def exported(path, tmp_path, whole=False):
    out = tmp_path / "out"
    write(path, out, tmp_path / "store", whole)
    with (out / "cluster_step_trace_time.csv").open() as file:
        return {name: json.loads((out / name).read_text()) for name in FILES}, list(csv.reader(file))


@pytest.mark.parametrize("whole", [False, True])
def test_the_files_of_alexnet_equal_those_of_msprof_analyze(tmp_path, whole):
    files, steps = exported(shared("ascend/alexnet_ddp_level1_text"), tmp_path, whole)
    assert (tmp_path / "store").exists() == whole
    for name in FILES:
        assert files[name] == json.loads((shared(EXPECTED) / name).read_text()), name
    with (shared(EXPECTED) / "cluster_step_trace_time.csv").open() as file:
        assert steps == list(csv.reader(file))
    # The top-N tool's file, from its definition: of rows with shapes, on each device.
    runs = defaultdict(list)
    for at, path in enumerate(sorted(shared("ascend/alexnet_ddp_level1_text").rglob("kernel_details.csv"))):
        with path.open() as file:
            for row in csv.DictReader(file):
                key = tuple(row[name].strip() for name in ("Name", "Input Shapes", "Input Data Types", "Output Shapes"))
                if "N/A" not in key and "" not in key:
                    runs[(*key, str(at), "0")].append(float(row["Duration(us)"]))
    with (tmp_path / "out" / "cluster_duration_time_analysis.csv").open() as file:
        _, *rows = csv.reader(file)
    assert {tuple(row[:6]) for row in rows} == set(runs)
    for *key, mean, var, most, least, distance in rows:
        us = runs[tuple(key)]
        off = 0.01 if whole else 1e-9  # the timeline's durations differ from these by some ns
        assert float(mean) == pytest.approx(statistics.mean(us), abs=off)
        variance = statistics.variance(us) if len(us) > 1 else 0
        assert float(var or 0) == pytest.approx(variance, rel=1e-3 if whole else 1e-9, abs=off)
        assert (float(most), float(least)) == pytest.approx((max(us), min(us)), abs=off)
        assert float(distance) == pytest.approx(max(us) - min(us), abs=off)


def test_the_files_of_a_pipeline_have_its_groups_and_indices(tmp_path):
    """Ranks 0 and 1 are replicas of the first of two stages; the second one was not recorded."""
    files, steps = exported(shared("cases/ascend/qwen3_pp2dp2_level2"), tmp_path)
    groups = files["communication_group.json"]
    assert (groups["collective"], groups["p2p"]) == ([[0], [0, 1], [1]], [[0], [1]])
    assert [row[:3] + row[-3:] for row in steps[1:]] == [["13", "rank", "0", "0", "0", "0"],
                                                         ["13", "rank", "1", "1", "0", "0"]]  # fmt: skip
    bubble = files["cluster_communication.json"]["(0,)"]["step13"]["hcom_batchSendRecv__128_4_1@3985310405473756128"]
    times = bubble["0"]["Communication Time Info"]
    assert times["Wait Time(ms)"] == pytest.approx(158.10198)
    assert times["Elapse Time(ms)"] == pytest.approx(158.55328)


def test_a_simulated_job_adds_up(tmp_path):
    simulate(SimJob(device="ascend910b3", ranks=2, steps=2, layers=1), tmp_path / "job", "ascend")
    files, steps = exported(tmp_path / "job", tmp_path)
    assert {(row[1], row[2]) for row in steps[1:]} == {("rank", "0"), ("rank", "1")}
    assert files["communication_group.json"]["collective"] == [[0, 1]]
    for step in files["cluster_communication.json"]["(0, 1)"].values():
        [total] = [ranks for name, ranks in step.items() if name.startswith("Total Op Info@")]
        for rank in ("0", "1"):
            parts = [ranks[rank]["Communication Time Info"] for name, ranks in step.items() if not name.startswith("T")]
            whole = total[rank]["Communication Time Info"]
            for metric in ("Elapse Time(ms)", "Transit Time(ms)", "Wait Time(ms)"):
                assert whole[metric] == pytest.approx(sum(part[metric] for part in parts))


def test_sums_alone_give_the_files_that_whole_recordings_give(tmp_path):
    simulate(SimJob(device="ascend910b3", ranks=2, steps=3, layers=1), tmp_path / "job", "ascend")
    for steps in ((), (2,)):
        alone, whole = (tmp_path / f"{kind}{len(steps)}" for kind in ("alone", "whole"))
        assert write(tmp_path / "job", alone, tmp_path / "store", steps=steps) == []
        assert write(tmp_path / "job", whole, tmp_path / "store", True, steps) == []
        names = {path.name for path in whole.iterdir()}
        assert len(names) == 5
        assert names == {path.name for path in alone.iterdir()}
        for name in names:
            assert (alone / name).read_text() == (whole / name).read_text(), (name, steps)


def test_steps_of_a_database_need_its_events(tmp_path):
    path = shared("ascend/alexnet_ddp_level1_db/rank0_ascend_pt")
    assert write(path, tmp_path / "all", tmp_path / "store") == []
    assert len(write(path, tmp_path / "one", tmp_path / "store", steps=(50,))) == 1
    for one in (tmp_path / "all").iterdir():
        assert one.read_text() == (tmp_path / "one" / one.name).read_text()
    with pytest.raises(UserError, match="no step 51"):
        write(path, tmp_path / "other", tmp_path / "store", steps=(51,))


def test_without_sums_there_is_nothing_to_write(tmp_path):
    simulate(SimJob(steps=1, layers=1), tmp_path / "one.json")
    with pytest.raises(UserError, match="no sums"):
        exported(tmp_path / "one.json", tmp_path, whole=True)
