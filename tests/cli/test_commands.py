"""The commands, run in this process on small recordings of the simulator's."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from bench.damage.small_ascend import write_text

from series import series
from stepscope.cli import opening
from stepscope.cli.main import run
from stepscope.demo import recording
from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo's recording and a store."""
    found = tmp_path_factory.mktemp("cli")
    with recording() as path:
        (found / "job.json.gz").write_bytes(path.read_bytes())
    return found


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """Run a command; gives (status, standard output, standard error)."""
    monkeypatch.setenv("STEPSCOPE_CACHE", str(folder / "cache"))
    monkeypatch.setenv("COLUMNS", "100")

    def called(*arguments: str, debug: bool = False) -> tuple[int, str, str]:
        status = run(list(arguments), debug=debug)
        out, err = capsys.readouterr()
        return status, out, err

    return called


@pytest.fixture(scope="module")
def job(folder: Path) -> str:
    return str(folder / "job.json.gz")


def test_version_and_help(call) -> None:
    assert call("--version")[:2] == (0, "stepscope 0.1.0\n")
    status, out, _ = call("--help")
    assert status == 0
    assert "analyze" in out
    status, _, err = call()
    assert status == 2
    assert "analyze" in err


def test_analyze_prints_a_report(call, job: str) -> None:
    status, out, err = call("analyze", job)
    assert (status, err) == (0, "")
    for title in ("Health", "Where the time went", "Why idle", "What ran", "Memory"):
        assert f"\n{title} ─" in out


def test_analyze_writes_all_files_at_once(call, job: str, tmp_path: Path) -> None:
    names = {"--json": "r.json", "--xlsx": "r.xlsx", "--markdown": "r.md", "--html": "r.html"}
    arguments = [part for option, name in names.items() for part in (option, str(tmp_path / name))]
    status, out, err = call("analyze", job, *arguments)
    assert (status, out) == (0, "")
    assert err.count("wrote ") == 4
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names.values())
    assert json.loads((tmp_path / "r.json").read_text())["schema"] == "stepscope.report/1"
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json_on_standard_output_is_nothing_but_json(call, job: str) -> None:
    status, out, err = call("analyze", job, "--json", "-", "--table", "step_budget", "--step", "2")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert list(document["tables"]) == ["step_budget"]
    names = [column["name"] for column in document["tables"]["step_budget"]["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in document["tables"]["step_budget"]["rows"]]
    assert [row["number"] for row in rows] == [2]
    parts = ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")
    assert all(sum(row[part] for part in parts) == row["total_ns"] for row in rows)


def test_a_table_that_is_asked_for_has_all_columns(call, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = call("analyze", job, "--table", "step_budget", "--top", "2")
    assert status == 0
    assert "exposed comm ms" in out
    assert "more: --top N, or --json FILE for all" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("analyze", "nowhere.json"), "stepscope: nowhere.json does not exist; check the path.\n"),
        (("analyze", ""), "stepscope: Invalid value for 'PATH...': the path is empty; see --help.\n"),
        (("query", "", "SELECT 1"), "stepscope: Invalid value for 'PATH': the path is empty; see --help.\n"),
        (("analyze", "JOB", "--store", ""), "stepscope: Invalid value for '--store': the path is empty; see --help.\n"),
        (("analyze", "JOB", "--top", "x"), "Invalid value for '--top': it must be a whole number; see --help.\n"),
        (("analyze", "JOB", "--top", "0"), "Invalid value for '--top': it must be 1 or more; see --help.\n"),
        (("analyze", "--tpo", "3"), "No such option: --tpo; did you mean --step, --store, --top; see --help.\n"),
        (("analyze",), "stepscope: Missing argument 'PATH...'; see --help.\n"),
        (("analize", "JOB"), "stepscope: No such command 'analize'; did you mean 'analyze'; see --help.\n"),
        (("analyze", "JOB", "--rank", "9"), "stepscope: the input has no rank 9; it has 0.\n"),
        (("analyze", "JOB", "--step", "99"), "stepscope: the input has no step 99; it has 1 to 4.\n"),
        (("analyze", "JOB", "--xlsx", "-"), "stepscope: a workbook can't be written to standard output; "),
        (("analyze", "JOB", "--csv", "-"), "stepscope: several tables can't be written to standard output; choose one"),
        (("analyze", "JOB", "--csv", "JOB"), "exists already and is no empty folder; choose a new one"),
        (("whatif", "JOB", "--remedy", "torch-compil"), "did you mean torch-compile.\n"),
        (("whatif", "JOB", "--remedy", "serving"), "stepscope: no finding of this recording says what serving would "),
        (("whatif", "JOB", "--remedy", "amp", "--remove", "gc"), "stepscope: --remedy decides itself what changes; "),
        (("analyze", "JOB", "--json", "/nowhere/r.json"), "stepscope: /nowhere/r.json can't be written (No such file"),
        (("analyze", "JOB", "--json", "JOB"), "is an input; write to another file.\n"),
        (("analyze", "JOB", "--top", "0"), "see --help.\n"),
        (("analyze",), "see --help.\n"),
        (("nonsense",), "see --help.\n"),
        (("export", "JOB"), "Choose from: parquet, chrome, perfetto, folded, ascend-cluster; see"),
        (
            ("export", "JOB", "--to", "parquet"),
            "stepscope: an export of several files is written into a folder; give --output DIR.\n",
        ),
        (("export", "JOB", "--to", "chrome", "--from", "soon"), "stepscope: --from 'soon' is no time; "),
        (("export", "JOB", "--to", "chrome", "--category", "x"), "stepscope: no category is called 'x'; choose from"),
        (("schema", "nothing"), "stepscope: no table is called 'nothing'; "),
        (("simulate", "--preset", "nothing"), "stepscope: no preset is called 'nothing'; "),
    ],
)
def test_wrong_use_is_one_sentence_and_status_2(call, job: str, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = call(*(job if part == "JOB" else part for part in arguments))
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert Path(job).stat().st_size > 0


def test_nothing_usable(call, tmp_path: Path) -> None:
    bad = tmp_path / "bad\x1b[31m.json"
    bad.write_text("{}")
    status, _, err = call("analyze", str(bad))
    assert status == 2
    assert err.startswith("stepscope: ")
    assert "\x1b" not in err
    assert "Traceback" not in call("analyze", str(bad))[2]
    assert "Traceback" in call("analyze", str(bad), debug=True)[2]


def test_an_unexpected_error_asks_for_debug(call, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import stepscope.reports.build

    def fail(*_: object) -> None:
        raise ZeroDivisionError("oops\nand more")

    monkeypatch.setattr(stepscope.reports.build, "build_report", fail)
    status, _, err = call("analyze", job)
    assert status == 2
    assert err == (
        "stepscope: an unexpected error occurred (ZeroDivisionError: oops); run again with --debug and report it.\n"
    )
    assert "in fail" in call("analyze", job, debug=True)[2]


def test_interruption(call, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import stepscope.reports.build

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stepscope.reports.build, "build_report", interrupt)
    assert call("analyze", job) == (130, "", "stepscope: interrupted.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("analyze", "JOB", "--table", "step_budgt"), "no table is called 'step_budgt'; did you mean step_budget.\n"),
        (("analyze", "JOB", "--select", "hots"), "no rule or family is called 'hots'; did you mean host.\n"),
        (("analyze", "JOB", "--jsn", "x"), "No such option: --jsn"),
        (("export", "JOB", "--to", "chrome", "--category", "kernl"), "did you mean kernel.\n"),
        (("export", "JOB", "--to", "chrome", "--from", "100s"), "--from lies behind the end of the trace, which is "),
        (("export", "JOB", "--to", "chrome", "--from", "2ms", "--until", "1ms"), "--until lies before --from; "),
        (("schema", "kernls"), "did you mean kernels"),
        (("rules", "data-wat"), "no rule or remedy is called 'data-wat'; "),
        (("simulate", "--preset", "tinny"), "did you mean tiny.\n"),
    ],
)
def test_the_nearest_name_is_said(call, job: str, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = call(*(job if part == "JOB" else part for part in arguments))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_help_speaks_of_arguments_as_the_documentation_does(call) -> None:
    for command, usage in (("analyze", "PATH..."), ("rules", "[NAME]"), ("schema", "[TABLE]")):
        out = call(command, "--help")[1]
        assert out.split("\n")[0].endswith(f"{command} [OPTIONS] {usage}")
        assert "<" not in out.split("Options:")[0]


def test_a_terminal_of_no_width_and_a_folder_without_a_name(
    call, job: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    for rank in range(2):
        (tmp_path / "run" / f"rank{rank}.json.gz").write_bytes(Path(job).read_bytes())
    monkeypatch.chdir(tmp_path / "run")
    monkeypatch.setenv("COLUMNS", "0")
    status, out, _ = call("analyze", ".", "--table", "step_budget")
    assert status == 0
    assert out.splitlines()[0].strip() == "run (2 recordings)"


def test_what_was_written_is_said(call, job: str, tmp_path: Path) -> None:
    for arguments in (("query", job, "SELECT 1"), ("export", job, "--to", "folded")):
        path = tmp_path / arguments[0]
        assert call(*arguments, "-o", str(path)) == (0, "", f"wrote {path}\n")


def test_schema(call) -> None:
    status, out, _ = call("schema")
    assert status == 0
    assert "\nkernels: " in out
    document = json.loads(call("schema", "--json")[1])
    assert set(document) == {"canonical", "report", "comparison"}
    assert "event" in [column["name"] for column in document["canonical"]["copies"]["columns"]]
    assert json.loads(call("schema", "events", "--json")[1])["report"] == {}
    assert call("schema", "--markdown")[1].startswith("# Tables\n")


def test_cache(call, job: str, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    assert call("analyze", job, "--store", store, "--table", "step_budget")[0] == 0
    status, out, _ = call("cache", "ls", "--store", store)
    assert status == 0
    assert job in out
    assert "1 recording, " in out
    assert call("cache", "clear", "--store", store)[1].startswith("removed 1 recording, ")
    assert "0 recordings" in call("cache", "ls", "--store", store)[1]
    assert call("analyze", job, "--no-cache", "--store", store, "--table", "step_budget")[0] == 0
    assert "0 recordings" in call("cache", "ls", "--store", store)[1]


def test_export_chrome_packed_and_cut(call, job: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json.gz"
    status, _, _ = call(
        "export", job, "--to", "chrome", "-o", str(out), "--category", "kernel", "--from", "1ms", "--until", "5ms"
    )
    assert status == 0
    events = [e for e in json.loads(gzip.decompress(out.read_bytes()))["traceEvents"] if e["ph"] == "X"]
    assert events
    assert {e["cat"] for e in events} == {"kernel"}
    assert all(e["ts"] + e["dur"] > 1000 and e["ts"] < 5000 for e in events)


def test_export_folded_and_parquet(call, job: str, tmp_path: Path) -> None:
    status, out, _ = call("export", job, "--to", "folded", "--step", "1", "--time", "host")
    assert status == 0
    assert all(line.rsplit(" ", 1)[1].isdigit() for line in out.splitlines())
    target = tmp_path / "new"
    assert call("export", job, "--to", "parquet", "-o", str(target), "--step", "1")[0] == 0
    steps = pq.read_table(target / "kernels.parquet").column("step").to_pylist()
    assert set(steps) == {1}
    assert call("export", job, "--to", "parquet", "-o", str(target))[0] == 2


def test_tables_as_csv(call, job: str, tmp_path: Path) -> None:
    status, out, _ = call("analyze", job, "--table", "step_budget", "--csv", "-")
    head, *rows = csv.reader(io.StringIO(out))
    assert (status, head[:3]) == (0, ["rank", "device", "step"])
    assert len(rows) >= 3
    target = tmp_path / "tables"
    assert call("analyze", job, "--table", "step_budget", "--table", "kernels", "--csv", str(target))[0] == 0
    assert sorted(path.name for path in target.iterdir()) == ["kernels.csv", "step_budget.csv"]
    assert (target / "step_budget.csv").read_text() == out


def test_what_stepscope_wrote_about_a_recording_opens_the_recording(call, job: str, tmp_path: Path) -> None:
    tables, report = tmp_path / "tables", tmp_path / "report.json"
    assert call("export", job, "--to", "parquet", "-o", str(tables))[0] == 0
    assert call("analyze", job, "--table", "step_budget", "--json", str(report))[0] == 0
    known = json.loads(report.read_text())
    for written in (tables, report):
        status, out, _ = call("analyze", str(written), "--table", "step_budget", "--json", "-")
        found = json.loads(out)
        assert (status, found["tables"], found["source"]) == (0, known["tables"], known["source"])
        assert "report-opened" in [line["code"] for line in found["health"]]
    report.write_text(report.read_text().replace("job.json", "gone.json"))
    status, _, err = call("analyze", str(report))
    assert (status, "gone.json.gz, which is no longer there; give the recording" in err) == (2, True)
    report.write_text('{"schema": "stepscope.report/1", "source": [[1]]}')
    assert "does not name it" in call("analyze", str(report))[2]


def test_a_remedy_is_a_change_for_each_finding_that_it_mends(call, job: str) -> None:
    status, out, _ = call("whatif", job, "--remedy", "data-loading", "--json")
    found = json.loads(out)
    [change] = found["changes"]
    assert (status, found["remedy"], change["change"][:7]) == (0, "data-loading", "DAT001 ")
    assert change["saved_ns"] > change["base_ns"] / 10


def test_export_of_cluster_outputs(call, job: str, tmp_path: Path) -> None:
    for rank, step in ((0, 7), (1, 8)):
        output = write_text(tmp_path / "job" / f"{rank}_ascend_pt", rank)
        (output / "step_trace_time.csv").write_text(f"Step,Computing\n{step},100.5\n")
    arguments = ("export", str(tmp_path / "job"), "--to", "ascend-cluster", "-o")
    assert call(*arguments, str(tmp_path / "all")) == (0, "", f"wrote {tmp_path / 'all'}\n")
    assert "8,rank,1,100.5" in (tmp_path / "all" / "cluster_step_trace_time.csv").read_text()
    assert call(*arguments, str(tmp_path / "one"), "--rank", "0")[0] == 0
    assert "rank,1" not in (tmp_path / "one" / "cluster_step_trace_time.csv").read_text()
    assert call(*arguments, str(tmp_path / "step"), "--step", "8")[0] == 0
    assert "7,rank" not in (tmp_path / "step" / "cluster_step_trace_time.csv").read_text()
    for option, said in (("--rank", "no rank 9"), ("--step", "no step 9")):
        status, _, err = call(*arguments, str(tmp_path / "no"), option, "9")
        assert (status, said in err, (tmp_path / "no").exists()) == (2, True, False)
    assert "whole steps" in call(*arguments, str(tmp_path / "no"), "--from", "1ms")[2]
    assert "no sums" in call("export", job, "--to", "ascend-cluster", "-o", str(tmp_path / "no"))[2]


def test_simulate_is_registered(call, tmp_path: Path) -> None:
    status, out, _ = call("simulate", "--preset", "tiny", "--out", str(tmp_path / "s.json"))
    assert status == 0
    assert (tmp_path / "s.json").exists()
    assert "s.json" in out


def test_demo_ends_by_itself_with_a_report(call) -> None:
    status, out, err = call("demo")
    assert (status, err) == (0, "")
    assert "data wait" in out


SELECT = "SELECT name, count(*) AS n FROM kernels GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3"


def test_query_in_every_format(call, job: str, tmp_path: Path) -> None:
    table = call("query", job, SELECT)[1]
    assert table.splitlines()[0].split() == ["name", "n"]
    assert table.endswith("(3 rows)\n")
    rows = json.loads(call("query", job, SELECT, "--format", "json")[1])
    assert [set(row) for row in rows] == [{"name", "n"}] * 3
    text = call("query", job, SELECT, "--format", "csv")[1]
    assert list(csv.DictReader(io.StringIO(text))) == [{"name": r["name"], "n": str(r["n"])} for r in rows]
    target = tmp_path / "r.parquet"
    assert call("query", job, SELECT, "--format", "parquet", "--output", str(target))[0] == 0
    assert pq.read_table(target).to_pylist() == rows
    assert json.loads(call("query", job, "SELECT 1 AS a WHERE false", "--format", "json")[1]) == []


@pytest.fixture(scope="module")
def locked(job: str) -> Iterator[Trace]:
    with open_trace(Path(job), Options(cache=False, locked=True)) as trace:
        yield trace


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_parquet('https://example.com/x.parquet')",
        "SELECT * FROM parquet_metadata('/etc/passwd')",
        "COPY kernels TO '/tmp/x.csv'",
        "WITH x AS (COPY kernels TO '/tmp/x.csv') FROM x",
        "WITH x AS (INSERT INTO kernels VALUES (1) RETURNING *) FROM x",
        "SELECT * FROM query('COPY kernels TO ''/tmp/x.csv''')",
        "ATTACH '/tmp/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PRAGMA version",
        "SET threads = 1",
        "RESET threads",
        "CREATE TABLE t (a INTEGER)",
        "DROP VIEW kernels",
        "EXPLAIN ANALYZE COPY kernels TO '/tmp/x.csv'",
        "CALL pragma_version()",
        "SELECT 1; SELECT 2",
        "SELECT * FROM query('SELECT 1')",
        "SELECT current_setting('temp_directory')",
        "SELECT Current_Setting('temp_directory') FROM kernels",
        "SELECT * FROM pg_settings",
        "SELECT (SELECT max(setting) FROM pg_catalog.pg_settings)",
        "SELECT pg_get_viewdef(1)",
        "SELECT sql FROM duckdb_views()",
        "SELECT sql FROM sqlite_master",
        "SELECT view_definition FROM information_schema.views",
        "SELECT (SELECT count(*) FROM Enable_Logging()) FROM kernels",
        "WITH x AS (SELECT * FROM disable_logging()) FROM x",
        "SELECT * FROM enable_logging(storage = 'file', storage_path = '/tmp/x')",
        "SELEC 1",
        "SELECT nothing FROM kernels",
        "",
    ],
)
def test_queries_only_read_the_trace(call, locked: Trace, job: str, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(paths: list[Path], **options: object) -> AbstractContextManager[Trace]:
        assert (paths, options["locked"]) == ([Path(job)], True)
        return nullcontext(locked)

    # To open it takes longer than to refuse the query.
    monkeypatch.setattr(opening, "open_input", opened)
    status, out, err = call("query", job, sql)
    assert (status, out) == (2, "")
    assert err.startswith("stepscope: ")
    assert err.count("\n") == 1
    assert not Path("/tmp/x.csv").exists()


def test_queries_may_call_functions_that_make_rows(call, job: str) -> None:
    sql = "SELECT n, u FROM range(2) r(n), unnest(['a']) u(u) ORDER BY n"
    assert json.loads(call("query", job, sql, "--format", "json")[1]) == [{"n": 0, "u": "a"}, {"n": 1, "u": "a"}]


def test_a_query_that_takes_too_long_is_stopped(call, job: str) -> None:
    sql = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"
    started = time.monotonic()
    status, _, err = call("query", job, sql, "--timeout", "0.3")
    assert status == 2
    assert err == "stepscope: the query was stopped after 0.3 s; raise --timeout.\n"
    assert time.monotonic() - started < 10


def test_a_query_whose_rows_keep_coming_is_stopped_too(call, job: str) -> None:
    endless = "SELECT range FROM range(1000000000000)"
    status, _, err = call("query", job, endless, "--format", "csv", "-o", os.devnull, "--timeout", "0.3")
    assert (status, err) == (2, "stepscope: the query was stopped after 0.3 s; raise --timeout.\n")


def test_a_query_that_needs_too_much_memory_is_refused(call, job: str) -> None:
    status, _, err = call("query", job, "SELECT range(400_000_000)", "--memory", "600")
    assert status == 2
    assert err == "stepscope: the query needs more memory than 600 MB; ask for less at a time, or raise --memory.\n"


@pytest.mark.parametrize(
    ("sql", "meant"),
    [
        ("SELECT * FROM kernel", 'did you mean "kernels"'),
        ("SELECT nam FROM kernels", 'did you mean "name"'),
        ("SELECT summ(event) FROM kernels", 'did you mean "sum"'),
    ],
)
def test_a_query_with_a_wrong_name_says_the_nearest(call, job: str, sql: str, meant: str) -> None:
    status, _, err = call("query", job, sql)
    assert (status, err.count("\n")) == (2, 1)
    assert meant in err


def wait_until_busy(running: subprocess.Popen[str]) -> None:
    """Wait until a command has used more processor time than to start, 2 s; 6 s where that can not be asked."""
    stat, end = Path(f"/proc/{running.pid}/stat"), time.monotonic() + 60
    if not stat.exists():
        time.sleep(6)
    while stat.exists() and time.monotonic() < end:
        ticks = sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))
        if ticks > 2 * os.sysconf("SC_CLK_TCK"):
            break
        time.sleep(0.05)


@pytest.mark.parametrize(
    "sql",
    series(
        [
            "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3",
            "SELECT a.range FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3",
        ],
        sample=1,
    ),
)
def test_a_query_can_be_interrupted(job: str, sql: str) -> None:
    command = [sys.executable, "-m", "stepscope", "query", job, sql, "--format", "csv"]
    # A shell starts jobs in the background, such as these tests may be, with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        signal.signal(signal.SIGINT, before)
        try:
            wait_until_busy(running)
            assert running.poll() is None
            running.send_signal(signal.SIGINT)
            sent = time.monotonic()
            _, err = running.communicate(timeout=60)
        finally:
            running.kill()
    assert (running.returncode, err) == (130, "stepscope: interrupted.\n")
    assert time.monotonic() - sent < 5  # on a busy machine


def test_hostile_names_in_results(call, job: str) -> None:
    _, out, _ = call("query", job, "SELECT chr(27) || '[31m' AS \"a\x1b\", 'x' || chr(10) || 'y' AS b")
    assert "\x1b" not in out
    assert "\\x1b[31m" in out
    assert len(out.splitlines()) == 4


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stepscope", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_a_closed_pipe_is_no_error(job: str) -> None:
    command = f"'{sys.executable}' -m stepscope query '{job}' " + (
        "'SELECT * FROM events' --format csv --no-cache | head -1"
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.startswith("id,rank,ts")


def test_status_of_the_process() -> None:
    assert process("--version").returncode == 0
    failed = process("analyze", "nowhere")
    assert (failed.returncode, failed.stderr) == (2, "stepscope: nowhere does not exist; check the path.\n")
    assert "Traceback" in process("analyze", "nowhere", "--debug").stderr


def test_a_report_leaves_nothing_behind_and_imports_neither_pandas_nor_pydantic(job: str, tmp_path: Path) -> None:
    code = (
        "import atexit, sys\nfrom stepscope.cli import entry\n"
        "atexit.register(lambda: print({'pandas', 'pydantic', 'numpy'} & set(sys.modules), file=sys.stderr))\n"
        f"sys.argv = ['stepscope', 'analyze', {job!r}, '--no-cache']\nentry()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "{'numpy'}\n")
    assert Path(job).name in done.stdout
    assert not list(tmp_path.iterdir())


def test_leaving_calls_what_waits_for_the_end_and_flushes(tmp_path: Path) -> None:
    code = (
        "import atexit, sys\nfrom stepscope.cli import entry\natexit.register(print, 'last words')\n"
        "sys.argv = ['stepscope', 'analyze', 'nowhere']\nentry()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "last words\n")


def test_starting_up_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom stepscope.cli.main import run\nrun(['--version'])\n"
        "heavy = {'numpy', 'pyarrow', 'duckdb', 'rich', 'pandas', 'xlsxwriter', 'wasmtime'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


class TestRules:
    def test_all_rules_and_remedies_are_listed(self, capsys) -> None:
        assert run(["rules"]) == 0
        shown = capsys.readouterr().out
        assert "DAT001  loader-wait" in shown
        assert "  data-loading" in shown

    @pytest.mark.parametrize("name", ["DAT001", "dat001", "loader-wait"])
    def test_a_rule_by_code_or_name(self, capsys, name: str) -> None:
        assert run(["rules", name]) == 0
        assert capsys.readouterr().out.startswith("# DAT001: loader-wait")

    def test_a_rule_as_json(self, capsys) -> None:
        assert run(["rules", "DAT001", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["thresholds"][0]["name"] == "min_share"

    def test_a_remedy(self, capsys) -> None:
        assert run(["rules", "data-loading"]) == 0
        assert capsys.readouterr().out.startswith("# ")

    @pytest.mark.parametrize(("name", "start"), [("COM008", "# COM008：bucket-size\n"), ("amp", "# 混合精度")])
    def test_pages_in_chinese_say_nothing_of_their_source(self, capsys, name: str, start: str) -> None:
        assert run(["rules", name, "--lang", "zh"]) == 0
        assert capsys.readouterr().out.startswith(start)
        assert run(["rules", name, "--lang", "zh", "--json"]) == 0
        assert capsys.readouterr().out.isascii()

    def test_an_unknown_rule_is_an_error_of_one_sentence(self, capsys) -> None:
        assert run(["rules", "nonsense"]) == 2
        assert "no rule or remedy is called 'nonsense'" in capsys.readouterr().err

    def test_a_new_rule(self, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert run(["rules", "--new", "noisy-neighbour", "--family", "system"]) == 0
        assert (tmp_path / "noisy_neighbour.py").is_file()
