from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

import stepscope
from stepscope.demo import recording


@pytest.fixture(scope="module")
def trace() -> Iterator[stepscope.Trace]:
    with recording() as path, stepscope.open(path, cache=False) as opened:
        yield opened


def test_open_analyze_and_tables(trace: stepscope.Trace) -> None:
    assert trace.ranks == (0,)
    report = trace.analyze(steps=[2], tables=["step_budget"])
    assert isinstance(report, stepscope.Report)
    assert list(report.tables) == ["step_budget"]
    kernels = trace.table("kernels")
    assert kernels.schema.names[0] == "name"
    assert kernels.to_arrow().num_rows == len(kernels.to_pandas()) == len(kernels.to_polars()) == len(kernels)
    assert trace.table("events").schema.names[0] == "id"
    assert trace.sql("SELECT count(*) AS n FROM events").to_pylist() == [{"n": trace.recordings[0].events}]
    assert trace.rank(0).ranks == (0,)


def test_what_does_not_exist(trace: stepscope.Trace) -> None:
    with pytest.raises(stepscope.UserError, match="no table is called 'x'; choose from step_budget"):
        trace.table("x")
    with pytest.raises(stepscope.UserError, match="does not exist"):
        stepscope.open("nowhere")


def test_readable_in_a_shell_and_in_a_notebook(trace: stepscope.Trace) -> None:
    assert repr(trace).startswith("<stepscope.Trace of rank 0: 5,868 events, 4 steps")
    assert "job.json.gz" in trace._repr_html_()
    assert repr(trace.table("steps")).startswith("Table('steps', 4 rows: ")
    report = trace.analyze(tables=["step_budget"])
    assert repr(report).startswith("Report(1 rank(s), ")
    assert "<h2>Table</h2>" in report._repr_html_()


def test_names_are_listed_and_importing_is_quick() -> None:
    for name in stepscope.__all__:
        assert getattr(stepscope, name) is not None
    assert dir(stepscope) == sorted(stepscope.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        stepscope.nothing  # noqa: B018
    code = "import sys, stepscope; assert not {'numpy', 'duckdb', 'pyarrow'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
