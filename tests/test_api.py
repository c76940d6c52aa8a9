from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import stepscope
from series import series
from stepscope.demo import recording
from stepscope.simulate import SimJob, simulate


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
    with pytest.raises(stepscope.UserError, match=r"no table is called 'x'; choose from .*step_budget"):
        trace.table("x")
    with pytest.raises(stepscope.UserError, match=r"did you mean step_budget$"):
        trace.table("step_budgt")
    with pytest.raises(stepscope.UserError, match="no rank 7; it has 0"):
        trace.rank(7)
    with pytest.raises(stepscope.UserError, match="the report has no table called"):
        trace.analyze(tables=["step_budget"]).table("x")
    with pytest.raises(stepscope.UserError, match="does not exist"):
        stepscope.open("nowhere")


def test_a_query_of_a_fresh_trace_for_a_table_that_does_not_exist_names_the_one_that_does() -> None:
    with (
        recording() as path,
        stepscope.open(path, cache=False) as opened,
        pytest.raises(stepscope.UserError, match=r"the query failed: .*did you mean .kernels."),
    ):
        opened.sql("FROM kernel")


def test_a_closed_trace_says_so() -> None:
    with recording() as path, stepscope.open(path, cache=False) as opened:
        pass
    for ask in (lambda: opened.sql("SELECT 1"), lambda: opened.table("events"), opened.analyze, lambda: opened.steps):
        with pytest.raises(stepscope.UserError, match="the trace is closed"):
            ask()


def test_a_closed_trace_answers_nothing_from_memory_but_shows_itself() -> None:
    with recording() as path, stepscope.open(path, cache=False) as opened:
        opened.table("kernels")
        assert len(opened.steps) == 4
    with pytest.raises(stepscope.UserError, match="the trace is closed"):
        opened.table("kernels")
    assert repr(opened) == "<stepscope.Trace of 5,867 events: closed>"
    assert "closed" in opened._repr_html_()


@pytest.mark.parametrize("ranks", series([2, 1], 1))
def test_closing_ends_the_questions_of_other_threads(tmp_path: Path, ranks: int) -> None:
    import threading
    import time

    simulate(SimJob(ranks=ranks, steps=2, warmup_steps=1, layers=1), tmp_path / "job")
    asks: list[Callable[[stepscope.Trace], object]] = [
        lambda trace: trace.sql("SELECT sum(a.dur * b.dur + c.range) FROM events a, events b, range(100_000) c"),
        lambda trace: trace.sql("SELECT count(*) FROM events"),
        lambda trace: trace.rank(0).sql("SELECT count(*) FROM events"),
        lambda trace: trace.table("kernels"),
        lambda trace: trace.analyze(),
    ]
    heard: list[str] = []

    def ask_on(trace: stepscope.Trace, ask: Callable[[stepscope.Trace], object]) -> None:
        try:
            while True:
                ask(trace)
        except Exception as error:
            heard.append(f"{type(error).__name__}: {error}")

    for seconds in (0, 0.3):
        opened = stepscope.open(tmp_path / "job", cache=False)
        threads = [threading.Thread(target=ask_on, args=(opened, ask), daemon=True) for ask in asks]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        opened.close()
        for thread in threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in threads)
    assert set(heard) == {"UserError: the trace is closed; open it again"}
    assert len(heard) == 2 * len(asks)


def test_nothing_to_open_and_nothing_to_ask(trace: stepscope.Trace) -> None:
    with pytest.raises(stepscope.UserError, match="no path is given"):
        stepscope.open([])
    with pytest.raises(stepscope.UserError, match="the query is empty"):
        trace.sql(" ")


def test_steps_findings_tables_and_changes(trace: stepscope.Trace) -> None:
    assert trace.tables[0] == "program"
    assert {"kernels", "events", "step_budget"} <= set(trace.tables)
    assert len(trace.steps) == 4
    report = trace.analyze()
    assert [finding.code for finding in trace.findings()] == [finding.code for finding in report.findings]
    [(name, prediction)] = trace.whatif(remove="data_wait").items()
    assert name == "--remove data_wait"
    assert 0 < prediction.new_ns < prediction.base_ns
    assert len(trace.whatif()) > 3
    with pytest.raises(stepscope.UserError, match="nothing is called 'data_wat'; did you mean data_wait"):
        trace.whatif(remove=["data_wat"])


def test_several_threads_may_use_one_trace(trace: stepscope.Trace) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def ask(number: int) -> list[object]:
        counted = [trace.sql(f"SELECT count(*) + {number} AS n FROM events").to_pylist()[0]["n"] for _ in range(20)]
        return [*counted, trace.table("step_budget").to_arrow().to_pylist(), len(trace.table("kernels"))]

    alone = ask(0)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(8)))
    for number, answer in enumerate(answers):
        assert [value - number for value in answer[:20]] == alone[:20]
        assert answer[20:] == alone[20:]


def test_data_frames_name_what_is_to_be_installed(trace: stepscope.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    steps = trace.steps
    for convert, name in ((steps.to_pandas, "pandas"), (steps.to_polars, "polars")):
        with pytest.raises(stepscope.UserError, match=rf"^{name} is not installed; .*'stepscope\[frames\]'"):
            convert()


def test_readable_in_a_shell_and_in_a_notebook(trace: stepscope.Trace) -> None:
    assert repr(trace).startswith("<stepscope.Trace of rank 0: 5,867 events, 4 steps")
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


def test_a_rank_without_what_a_table_needs_has_no_rows_in_it(tmp_path: Path) -> None:
    paths = [Path(one) for one in simulate(SimJob(ranks=2, steps=2, warmup_steps=1, layers=1), tmp_path)]
    text = json.loads(gzip.decompress(data) if (data := paths[1].read_bytes())[:2] == b"\x1f\x8b" else data)
    text["traceEvents"] = [
        one for one in text["traceEvents"] if one.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset")
    ]
    lacking = tmp_path / "lacking" / "rank1.json"
    lacking.parent.mkdir()
    lacking.write_text(json.dumps(text))
    with stepscope.open([paths[0], lacking], cache=False) as opened:
        assert set(opened.table("kernels").to_arrow()["rank"].to_pylist()) == {0}
        [report] = opened.analyze(tables=["kernels"]).tables.values()
        assert report.to_arrow().equals(opened.table("kernels").to_arrow())
    with stepscope.open(lacking, cache=False) as opened, pytest.raises(stepscope.MissingInputError, match="device"):
        opened.table("kernels")
