"""What is recognised, how it is packed, what is damaged, and reports that only `nsys` can read."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from readers.conformance import assert_same, check_invariants, open_fresh, packings, tables
from readers.nsight.database import Export, write
from series import series
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import UserError
from stepscope.readers.nsight.folder_tables import FolderTables
from stepscope.readers.nsight.reader import NsightReader
from stepscope.readers.protocol import MAYBE, NO, YES
from stepscope.readers.sqlite.columns import Columns
from stepscope.readers.sqlite.tables import SqliteTables
from support import shared

#: Packed once and twice, spread so that a sample has a stream, the zip that holds other files, and what is nested.
PACKINGS = ("gz", "two gz members", "bz2", "zip", "xz", "gz in zip")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The export as a database, and its tables."""
    path = every_kind().sqlite(tmp_path_factory.mktemp("plain") / "export.sqlite")
    with open_fresh(path) as trace:
        return path, tables(trace)


@pytest.fixture
def export():
    return every_kind()


def every_kind() -> Export:
    """Enough of everything that every kind of table is there."""
    export = Export()
    for index in range(20):
        export.call("cudaLaunchKernel_v7000", 100 * index, 100 * index + 10, index + 1)
        export.kernel(f"kernel {index % 3}", 100 * index + 20, 100 * index + 80, index + 1, gridX=1, blockX=32)
    export.nvtx(59, "range", 0, 500)
    export.row("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.25.0")
    return export


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_folders_of_tables_give_the_same(export, kind, plain, tmp_path):
    folder = export.folder(tmp_path / "report_dir", kind)
    assert NsightReader().sniff(folder, b"") == YES
    with open_fresh(folder) as trace:
        check_invariants(trace)
        assert_same(plain[1], tables(trace))


@pytest.mark.parametrize("kind", ["parquet", "stream"])
def test_a_real_recording_as_a_folder_gives_the_same(kind, tmp_path):
    """With the types of the originals: 64 bits without a sign, and texts as numbers of a dictionary."""
    path = shared("nsys", "mfu_2gpu_before.sqlite")
    folder = tmp_path / "folder"
    folder.mkdir()
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        cursor = connection.execute(f'SELECT * FROM "{name}"')
        rows = cursor.fetchall()
        table = pa.table({d[0]: [row[i] for row in rows] for i, d in enumerate(cursor.description)})
        for column in {"globalTid", "globalPid", "correlationId"} & set(table.column_names if len(table) else []):
            index = table.column_names.index(column)
            table = table.set_column(index, column, table[column].cast(pa.uint64()))
        if name == "StringIds":
            table = table.set_column(1, "value", table["value"].dictionary_encode())
        write(table, folder / name, kind, 1000)
    connection.close()
    with open_fresh(path) as expected, open_fresh(folder) as trace:
        assert_same(tables(expected), tables(trace))


def test_a_folder_with_a_damaged_table(export, tmp_path):
    folder = export.folder(tmp_path / "folder", "parquet")
    target = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    target.write_bytes(target.read_bytes()[:-10])
    with open_fresh(folder) as trace:
        check_invariants(trace)
        assert "tables-damaged" in trace.sql("SELECT code FROM health").to_pydict()["code"]
        assert trace.scalar("SELECT count(*) FROM events") == 21


@pytest.mark.parametrize("kind", ["parquet", "stream"])
def test_text_that_is_no_utf8_is_replaced_and_said(export, tmp_path, kind):
    folder = export.folder(tmp_path / "folder", kind)
    [place] = folder.glob("StringIds.*")
    broken = pa.array([b"broken \xff name"], pa.binary()).cast(pa.string(), safe=False)
    write(pa.table({"id": pa.array([10**6]), "value": broken}), folder / "StringIds", kind, 1000)
    assert place.exists()
    with open_fresh(folder) as trace:
        check_invariants(trace)
        [line] = trace.rows("SELECT message FROM health WHERE code = 'tables-damaged'")
    assert "StringIds (text of value that is no UTF-8)" in line["message"]


@pytest.mark.parametrize("kind", ["parquet", "stream"])
def test_of_columns_with_one_name_the_first_is_read_and_values_that_do_not_fit_are_counted(export, tmp_path, kind):
    folder = export.folder(tmp_path / "folder", kind)
    names = pa.array([b"EXPORT_SCHEMA_VERSION", b"\xff\x00"], pa.binary())
    pairs = pa.Table.from_arrays([names, pa.array(["3.25.0", "x"]), pa.array(["1", "2"])], ["name", "value", "value"])
    write(pairs, folder / "META_DATA_EXPORT", kind, 1000)
    columns = {"start": [1.0, 1e300, float("inf"), float("nan")], "end": ["9", "10", "x", None], "nameId": [1] * 4}
    write(pa.table(columns), folder / "OSRT_API", kind, 1000)
    with closing(FolderTables(folder)) as opened:
        wanted = Columns(texts=("name", "value"))
        assert [row["value"] for chunk in opened.scan("META_DATA_EXPORT", wanted) for row in chunk.to_pylist()] == [
            "3.25.0", "x",
        ]  # fmt: skip
        assert sorted(opened.damage) == [
            "table META_DATA_EXPORT (it has several columns value, the first is read)",
            "table META_DATA_EXPORT (text of name that is no UTF-8)",
        ]
        [calls] = opened.scan("OSRT_API", Columns(ints=("start", "end")))
        assert calls.to_pydict() == {"start": [1, None, None, None], "end": [9, 10, None, None]}
        assert opened.losses.unfit == {("OSRT_API", "start"): 3, ("OSRT_API", "end"): 1}
    with open_fresh(folder) as trace:
        check_invariants(trace)
        counts = {row["code"]: row["count"] for row in trace.rows("SELECT code, count FROM health")}
    assert counts["tables-damaged"] == 2
    assert counts["values-unreadable"] == 4


@pytest.mark.parametrize("packing", series(PACKINGS, 3))
def test_every_packing_gives_the_same_tables(packing, plain, tmp_path):
    path, expected = plain
    target = tmp_path / "unknown"
    target.write_bytes(packings(path.read_bytes())[packing])
    with open_fresh(target) as trace:
        assert_same(expected, tables(trace))
        assert len(trace.notes) == (packing == "zip")


def test_the_packings_are_all_there_are():
    assert set(packings(b"some")) == set(PACKINGS)


def test_the_store_gives_the_same_tables(tmp_path):
    path = shared("nsys", "windows_low_util.sqlite")
    options = Options(store=tmp_path / "store")
    with open_trace(path, options) as first, open_trace(path, options) as second:
        assert_same(tables(first), tables(second))


def test_progress_adds_up_to_the_file(export, tmp_path):
    path = export.sqlite(tmp_path / "export.sqlite")
    said: list[tuple[int, int]] = []
    open_trace(path, Options(cache=False, report=lambda _, done, total: said.append((done, total)))).close()
    assert all(total == path.stat().st_size for _, total in said)
    assert sorted(said) == said
    assert said[-1][0] <= path.stat().st_size


def test_other_databases_are_not_recognised(tmp_path):
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE TASK (startNs, endNs)")
    connection.execute("CREATE TABLE STRING_IDS (id, value)")
    connection.commit()
    connection.close()
    assert NsightReader().sniff(path, path.read_bytes()) == NO
    empty = tmp_path / "folder"
    empty.mkdir()
    (empty / "numbers.parquet").write_bytes(b"PAR1")
    assert NsightReader().sniff(empty, b"") == NO


def test_virtual_tables_are_not_opened(export, tmp_path):
    path = export.sqlite(tmp_path / "export.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE OSRT_API USING fts5(start)")
    connection.commit()
    connection.close()
    with closing(SqliteTables(path)) as tables:
        assert "OSRT_API" not in tables.names()


def test_a_table_with_a_null_in_its_name_is_damaged(tmp_path):
    path = tmp_path / "export.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE kept (a)")
    connection.execute("CREATE TABLE lost (a)")
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET name = 'lo' || char(0) || 'st' WHERE name = 'lost'")
    connection.commit()
    connection.close()
    with closing(SqliteTables(path)) as opened:
        assert opened.names() == {"kept"}
        assert opened.damage


def test_a_report_without_nsys_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    report = tmp_path / "job.nsys-rep"
    report.write_bytes(b"something")
    with pytest.raises(UserError, match=r"no `nsys` on this machine; run `nsys export --type sqlite job.nsys-rep`"):
        open_fresh(report)


def with_nsys(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program `nsys` that runs a Python script first on the path."""
    folder.mkdir()
    program = folder / "nsys"
    lines = (f"#!{sys.executable}", "import shutil, sys", "arguments = sys.argv[1:]", script, "")
    program.write_text("\n".join(lines), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_a_report_is_converted_where_nsys_is(plain, tmp_path, monkeypatch):
    exported, expected = plain
    with_nsys(
        tmp_path / "bin", monkeypatch,
        f"assert arguments[0] == 'export'\nshutil.copy({str(exported)!r}, arguments[arguments.index('--output') + 1])",
    )  # fmt: skip
    report = tmp_path / "-job.nsys-rep"
    report.write_bytes(b"something")
    with open_fresh(report) as trace:
        assert_same(expected, tables(trace))


def test_a_report_that_nsys_can_not_convert(tmp_path, monkeypatch):
    with_nsys(tmp_path / "bin", monkeypatch, "sys.exit('the report is too new')")
    report = tmp_path / "job.qdrep"
    report.write_bytes(b"something")
    with pytest.raises(UserError, match="nsys says 'the report is too new'"):
        open_fresh(report)


def test_a_report_beside_its_export_is_not_read_twice(export, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    export.sqlite(folder / "job.sqlite")
    report = folder / "job.nsys-rep"
    report.write_bytes(b"something")
    assert NsightReader().sniff(report, b"") == MAYBE
    with open_fresh(folder) as trace:
        assert trace.ranks == (0,)


def test_rows_on_both_sides_of_a_damaged_page_are_read(tmp_path):
    path = tmp_path / "export.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA page_size = 4096")
    connection.execute("CREATE TABLE rows (a)")
    connection.executemany("INSERT INTO rows VALUES (?)", ((i,) for i in range(20_000)))
    connection.commit()
    connection.close()
    data = bytearray(path.read_bytes())
    middle = len(data) // 8192 * 4096
    data[middle : middle + 4096] = bytes(4096)
    path.write_bytes(data)
    with closing(SqliteTables(path)) as opened:
        found = [value for chunk in opened.scan("rows", Columns(ints=("a",))) for value in chunk["a"].to_pylist()]
    assert found == sorted(set(found))
    assert 19_000 < len(found) < 20_000
    assert (found[0], found[-1]) == (0, 19_999)
    assert len(opened.damage) == 1


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_a_log_of_changes_beside_a_database_is_named(export, tmp_path, end):
    path = export.sqlite(tmp_path / "job.sqlite")
    log = tmp_path / f"job.sqlite{end}"
    for content, said in ((b"", []), (b"x" * 100, [f"job.sqlite was not closed: job.sqlite{end} may have more"])):
        log.write_bytes(content)
        with open_fresh(path) as trace:
            found = trace.sql("SELECT message FROM health WHERE code = 'database-open'").to_pydict()["message"]
            assert found == said


def test_a_packed_database_that_can_not_be_opened_is_called_by_its_own_name(tmp_path):
    packed = tmp_path / "job.sqlite.gz"
    packed.write_bytes(gzip.compress(b"SQLite format 3\0" + bytes(1 << 16)))
    with pytest.raises(UserError, match=r"^[^ ]*job\.sqlite\.gz can't be read as a database") as error:
        open_trace(packed, Options(cache=False))
    assert "unpacked" not in str(error.value)


def test_a_cut_packed_database(tmp_path):
    path = shared("nsys", "lm_2_7b.sqlite")
    packed = tmp_path / "cut.sqlite.gz"
    with path.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target)
    packed.write_bytes(packed.read_bytes()[:-100_000])
    with open_fresh(packed) as trace:
        codes = trace.sql("SELECT code FROM health").to_pydict()["code"]
        assert {"input-damaged", "tables-damaged"} <= set(codes)
        assert trace.scalar("SELECT count(*) FROM kernels") > 1000
