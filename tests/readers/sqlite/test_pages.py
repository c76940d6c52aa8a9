"""Tables read from their pages are what SQLite itself reads."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from series import rounds
from stepscope.model.errors import UnusableInputError
from stepscope.readers.sqlite import whole
from stepscope.readers.sqlite.columns import Columns
from stepscope.readers.sqlite.pages import PageFile, UnreadableError
from stepscope.readers.sqlite.tables import SqliteTables
from stepscope.readers.sqlite.whole import PagedTable

WANTED = Columns(ints=("id", "a", "missing"), texts=("t",), floats=("f",), blobs=("b",))
LIMITS = [sign * (1 << bits) + off for bits in (7, 15, 23, 31, 47, 62) for sign in (1, -1) for off in (-1, 0, 1)]
INTEGERS = st.one_of(st.none(), st.sampled_from([0, 1, -1, *LIMITS]), st.integers(-(2**63), 2**63 - 1))
TEXTS = st.one_of(st.none(), st.text(max_size=200), st.text("xyz", min_size=600, max_size=700))
ROW = st.tuples(
    INTEGERS,
    TEXTS,
    st.one_of(st.none(), st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False)),
    st.one_of(st.none(), st.binary(max_size=150)),
)


def made(path: Path, rows, *, page: int = 4096, declared: str = "id INTEGER PRIMARY KEY, a, t TEXT, f REAL, b BLOB"):
    """A database with a table `x` of these rows between rows of another."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {page}")
        connection.execute(f"CREATE TABLE x ({declared})")
        connection.execute("CREATE TABLE other (y)")
        for index, row in enumerate(rows):
            connection.execute("INSERT INTO x (a, t, f, b) VALUES (?, ?, ?, ?)", row)
            connection.execute("INSERT INTO other VALUES (?)", ["-" * (index % 50)])
        connection.commit()
    return path


def scanned(path: Path) -> list[dict]:
    tables = SqliteTables(path)
    try:
        found = [row for chunk in tables.scan("x", WANTED) for row in chunk.to_pylist()]
        assert tables.damage == []
    finally:
        tables.close()
    return found


def by_library(path: Path, monkeypatch) -> list[dict]:
    def refuse(*_):
        raise UnreadableError("a test")

    with monkeypatch.context() as patched:
        patched.setattr(PageFile, "open", refuse)
        return scanned(path)


def pages_suffice(path: Path) -> bool:
    """Whether nothing had to be asked of the library."""
    tables = SqliteTables(path)
    paged = PagedTable(tables._connection, path, "x")
    try:
        types = {"id": pa.int64(), "a": pa.int64(), "t": pa.string(), "f": pa.float64(), "b": pa.binary()}
        whole_library = PagedTable._from_library
        PagedTable._from_library = None
        for _ in paged.batches(types):
            pass
    except (UnreadableError, TypeError):
        return False
    finally:
        PagedTable._from_library = whole_library
        paged.close()
        tables.close()
    return True


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.sqlite"


@settings(max_examples=rounds(60, 15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, max_size=120), page=st.sampled_from([512, 1024, 4096, 65536]))
def test_any_rows(rows, page, tmp_path, monkeypatch):
    path = made(tmp_path / "x.sqlite", rows, page=page)
    found = scanned(path)
    assert found == by_library(path, monkeypatch)
    assert [row["a"] for row in found] == [row[0] for row in rows]
    assert [row["t"] for row in found] == [row[1] for row in rows]
    assert [row["id"] for row in found] == list(range(1, len(rows) + 1))


def test_many_rows_on_several_levels(path, monkeypatch):
    rows = [((index - 500) << index % 50, f"text {index}" * (index % 9), index / 7, None) for index in range(4000)]
    made(path, rows, page=512)
    assert scanned(path) == by_library(path, monkeypatch)
    assert pages_suffice(path)


def test_sizes_of_reads_make_no_difference(path, monkeypatch):
    made(path, [(index, "x" * (index % 400), None, b"y") for index in range(900)], page=1024)
    once = scanned(path)
    monkeypatch.setattr(whole, "_BYTES_AT_ONCE", 3000)
    assert scanned(path) == once


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM x WHERE id % 3 = 0",
        "UPDATE x SET t = t || t || t WHERE id % 5 = 0",
        "UPDATE x SET id = id * 1000003 - 400000000",
        "UPDATE x SET a = 'text' WHERE id = 50",
        "UPDATE x SET a = 1.5 WHERE id = 50",
        "UPDATE x SET t = x'ff', b = 'text', f = 'none' WHERE id = 50",
        "UPDATE x SET t = CAST(x'c328' AS TEXT) WHERE id = 50",
        "ALTER TABLE x ADD COLUMN c INTEGER",
        "ALTER TABLE x RENAME COLUMN a TO missing",
        "DROP TABLE other",
        "VACUUM",
    ],
)
def test_tables_that_have_been_changed(path, statement, monkeypatch):
    made(path, [(index, f"text {index}", index / 3, b"z") for index in range(300)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    assert scanned(path) == by_library(path, monkeypatch)


@pytest.mark.parametrize(
    "declared",
    [
        "id INTEGER, a, t, f, b",
        "id INT PRIMARY KEY, a, t, f, b",
        "b, f, t, a INTEGER PRIMARY KEY, id",
        "id INTEGER PRIMARY KEY DESC, a, t, f, b",
        "a INTEGER, t TEXT, f REAL, b BLOB, PRIMARY KEY (a)",
        "a INTEGER NOT NULL, t TEXT, f REAL, b BLOB, PRIMARY KEY (a, t)",
        "a, t, f, b, id AS (a + 1)",
        "a, t, f, b, id AS (a + 1) STORED",
        "a, t, f, b, id DEFAULT 7",
    ],
)
def test_tables_of_every_kind(path, declared, monkeypatch):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE x ({declared})")
        connection.executemany(
            "INSERT INTO x (a, t, f, b) VALUES (?, ?, ?, ?)",
            [(index, f"text {index}", index / 3, b"z") for index in range(300)],
        )
        connection.commit()
    found = scanned(path)
    assert found == by_library(path, monkeypatch)
    assert len(found) == 300


def test_what_columns_were_before_a_default_was_added(path, monkeypatch):
    made(path, [(1, "x", 2.0, b"z")] * 20, declared="a, t, f, b")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE x ADD COLUMN id INTEGER DEFAULT 5")
        connection.commit()
    assert {row["id"] for row in scanned(path)} == {5}
    assert scanned(path) == by_library(path, monkeypatch)


def test_other_encodings_are_left_to_the_library(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA encoding = 'UTF-16le'")
        connection.execute("CREATE TABLE x (a, t)")
        connection.execute("INSERT INTO x VALUES (1, 'é')")
        connection.commit()
    with pytest.raises(UnreadableError):
        PageFile.open(path)
    assert [(row["a"], row["t"]) for row in scanned(path)] == [(1, "é")]


@settings(max_examples=rounds(150, 30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(100, 40_000), st.integers(0, 255)), min_size=1, max_size=30),
    cut=st.one_of(st.none(), st.integers(200, 40_000)),
)
def test_damage_never_ends_in_an_error(changes, cut, tmp_path):
    path = made(tmp_path / "x.sqlite", [(index << 20, f"text {index}", None, b"z") for index in range(500)], page=1024)
    data = bytearray(path.read_bytes())
    for at, value in changes:
        data[at % len(data)] = value
    path.write_bytes(data[:cut])
    try:
        tables = SqliteTables(path)
    except UnusableInputError:
        return
    for name in tables.names():
        for chunk in tables.scan(name, WANTED):
            chunk.validate(full=True)
    tables.close()


def test_a_tree_that_leads_into_itself_ends(path):
    made(path, [(index, "x" * 300, None, None) for index in range(200)], page=512)
    with closing(sqlite3.connect(path)) as connection:
        [(root,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'x'").fetchall()
    data = bytearray(path.read_bytes())
    start = (root - 1) * 512
    assert data[start] == 5
    data[start + 8 : start + 12] = root.to_bytes(4, "big")
    path.write_bytes(data)
    file = PageFile.open(path)
    with pytest.raises(UnreadableError):
        list(file.leaves(root, 4))
    file.close()
    tables = SqliteTables(path)
    assert sum(chunk.num_rows for chunk in tables.scan("x", WANTED)) > 0
    assert tables.damage
    tables.close()
