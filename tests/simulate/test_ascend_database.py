"""A simulated job as databases is read back as its text is: what both exports hold is stored alike."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from series import series
from simulate.test_ascend import ASCEND, check_budgets, check_kernels, opened, worst, written
from stepscope.analyses.registry import analyses
from stepscope.simulate import simulate

JOB = replace(ASCEND, ranks=2, steps=1, layers=1)
#: What both exports tell of the same job.
ALIKE = {
    "steps": "SELECT * FROM steps ORDER BY ALL",
    "kernels": "SELECT k.ts, k.dur, k.kind, k.name, k.bytes, o.name AS op, l.name AS launch FROM kernels k "
    "LEFT JOIN events o ON o.id = k.op LEFT JOIN events l ON l.id = k.launch ORDER BY ALL",
    "operators": "SELECT ts, dur, name, depth FROM events WHERE category = 'op' ORDER BY ALL",
    "queue": "SELECT kind, count(*) FROM flows WHERE source IS NOT NULL AND target IS NOT NULL GROUP BY 1 ORDER BY 1",
    "blocks": "SELECT m.ts, bytes, allocated, reserved, o.name FROM memory m LEFT JOIN events o ON o.id = owner "
    "ORDER BY ALL",
    "collectives": "SELECT c.* EXCLUDE (event), k.ts FROM collectives c JOIN kernels k USING (event) ORDER BY ALL",
    "parts": "SELECT t.* EXCLUDE (event, collective) FROM comm_tasks t ORDER BY ALL",
    "groups": "SELECT * FROM groups ORDER BY ALL",
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The second rank as text and as a database."""
    folder = tmp_path_factory.mktemp("both")
    found = [opened(simulate(JOB, folder / name, name)[1]) for name in ("ascend", "ascend-db")]
    yield found
    for trace in found:
        trace.close()


@pytest.mark.parametrize("what", ALIKE)
def test_both_exports_are_stored_alike(what, both):
    text, database = (trace.sql(ALIKE[what]).to_pylist() for trace in both)
    assert text
    assert database == text


def test_counters_and_transfers_are_those_of_the_text(both):
    text, database = (
        {(row["kernel"], row["metric"]): row["value"] for row in trace.sql(
            "SELECT k.ts AS kernel, m.metric, m.value FROM kernel_metrics m JOIN kernels k USING (event)"
        ).to_pylist()} for trace in both
    )  # fmt: skip
    assert len(database) > 100
    assert database == pytest.approx({key: text[key] for key in database})
    assert {metric for _, metric in text} - {metric for _, metric in database} == {"cube_utilization"}
    sums = [
        trace.sql("SELECT source, step, subject, metric, value FROM recorded ORDER BY ALL").to_pylist()
        for trace in both
    ]
    assert [row for row in sums[1] if row["source"] in ("steps", "communication")] == [
        row for row in sums[0] if row["source"] in ("steps", "communication") and "Total Op" not in row["subject"]
        and "Ratio" not in row["metric"]
    ]  # fmt: skip


@pytest.mark.parametrize("level", series((0, 1, 2), 1))
def test_databases_hold_the_jobs_steps_and_kernels(level, tmp_path):
    job = replace(ASCEND, ranks=3, profiler_level=level, with_stack=True)
    path = simulate(job, tmp_path / "database", "ascend-db")[1]
    _, truth = written(job, tmp_path)
    with opened(path) as trace:
        assert not worst(trace)
        check_budgets(trace, truth[1])
        check_kernels(trace, truth[1])


@pytest.mark.parametrize("format", ["ascend", "ascend-db"])
def test_level_none_leaves_the_host(format, tmp_path):
    path = simulate(replace(ASCEND, profiler_level=-1), tmp_path / "run", format)[0]
    with opened(path) as trace:
        assert trace.scalar("SELECT count(*) FROM kernels") == 0
        assert {row["code"] for row in trace.sql("SELECT code FROM health").to_pylist()} >= {"level-low", "no-device"}
        rows = [row for row in analyses()["step_budget"].run(trace).records() if row["step"] is not None]
        assert [row["total_ns"] == row["idle_ns"] for row in rows] == [True, True]


def test_newer_names_are_those_of_newer_releases(tmp_path):
    text, database = (
        simulate(replace(JOB, cann="8.5"), tmp_path / name, name)[1] / "ASCEND_PROFILER_OUTPUT"
        for name in ("ascend", "ascend-db")
    )
    header, first = (text / "kernel_details.csv").read_text(encoding="utf-8").splitlines()[:2]
    assert header.startswith("Step Id,Device_id,Model ID,")
    assert "Block Num" in header
    assert first.split(",")[1] == "1"
    assert (text / "step_trace_time.csv").read_text(encoding="utf-8").startswith("Device_id,Step,")
    with closing(sqlite3.connect(database / "ascend_pytorch_profiler_1.db")) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(COMPUTE_TASK_INFO)")]
    assert "blockNum" in columns
    assert "blockDim" not in columns


def test_equal_jobs_give_equal_databases(tmp_path):
    files = [
        sorted(path.read_bytes() for path in simulate(JOB, tmp_path / name, "ascend-db")[0].rglob("*.db"))
        for name in ("one", "two")
    ]
    assert files[0] == files[1]
