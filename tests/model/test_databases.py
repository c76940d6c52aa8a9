"""Databases that follow each other in an instance of DuckDB know nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.model.process import databases
from stepscope.model.process.databases import Database, keep_instances

CONFIG = {"autoinstall_known_extensions": "false"}


@pytest.fixture(autouse=True)
def none_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No instances but those of the test."""
    monkeypatch.setattr(databases, "_KEPT", {})
    monkeypatch.setattr(databases, "_MOST", [1])
    yield
    keep_instances(0)


def made(limit: str = "100MB", **settings: str) -> Database:
    """A database with a limit of its memory."""
    return Database(CONFIG, {"memory_limit": limit, **settings})


def kept() -> int:
    """How many instances are open without a database."""
    return sum(map(len, databases._KEPT.values()))


def test_the_next_one_is_empty_and_has_its_own_settings() -> None:
    first = made()
    one, other = first.connect(), first.connect()
    one.execute("CREATE TABLE facts AS SELECT 1 AS fact")
    one.execute("CREATE TYPE kind AS ENUM ('a')")
    assert other.execute("FROM facts").fetchall() == [(1,)]
    one.close()
    other.close()
    first.close()
    assert kept() == 1
    second = made("200MB")
    assert kept() == 0
    with second.connect() as connection:
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == []
        assert connection.execute("SELECT current_setting('memory_limit')").fetchall() == [("190.7 MiB",)]
        connection.execute("CREATE TYPE kind AS ENUM ('b')")
    second.close()


def test_of_two_at_a_time_one_instance_is_kept() -> None:
    first, second = made(), made()
    for database, fact in ((first, 1), (second, 2)):
        with database.connect() as connection:
            connection.execute("CREATE TABLE facts AS SELECT ? AS fact", [fact])
    with first.connect() as connection:
        assert connection.execute("FROM facts").fetchall() == [(1,)]
    first.close()
    second.close()
    assert kept() == 1


def test_one_that_nobody_has_any_more_ends() -> None:
    database = made()
    assert kept() == 0
    del database
    assert kept() == 1


def test_none_is_kept_unless_the_process_wants_it() -> None:
    keep_instances(0)
    made().close()
    assert kept() == 0


def test_one_that_takes_no_other_settings_is_ended(tmp_path: Path) -> None:
    first = made()
    with first.connect() as connection:
        connection.execute("SET lock_configuration = true")
    first.close()
    second = made(temp_directory=str(tmp_path / "it's here"))
    with second.connect() as connection:
        found = connection.execute("SELECT current_setting('temp_directory')").fetchall()
    assert found == [(str(tmp_path / "it's here"),)]
    second.close()
