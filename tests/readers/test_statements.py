from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from stepscope.readers.kineto.statements import Statements


@pytest.fixture
def statements() -> Iterator[Statements]:
    with duckdb.connect() as connection:
        yield Statements(connection)


def test_a_statement_is_about_what_is_shown_when_it_runs(statements: Statements) -> None:
    statements.connection.execute("CREATE TABLE sums (total BIGINT)")
    for numbers in ([1, 2], [], [10]):
        statements.show("numbers", pa.table({"n": pa.array(numbers, pa.int64())}))
        statements.run("INSERT INTO sums SELECT sum(n) FROM numbers")
        assert statements.table("SELECT n FROM numbers")["n"].to_pylist() == numbers
    assert statements.rows("FROM sums") == [(3,), (None,), (10,)]


def test_a_statement_that_failed_runs_over_the_next_table(statements: Statements) -> None:
    for text, expected in (("1", [(1,)]), ("no number", None), ("2", [(2,)])):
        statements.show("texts", pa.table({"text": [text]}))
        if expected is None:
            with pytest.raises(duckdb.Error):
                statements.rows("SELECT CAST(text AS BIGINT) FROM texts")
        else:
            assert statements.rows("SELECT CAST(text AS BIGINT) FROM texts") == expected


def test_other_tables_of_the_connection_may_come_and_go(statements: Statements) -> None:
    for number in range(3):
        statements.connection.execute("CREATE OR REPLACE TEMP TABLE other (x INTEGER)")
        statements.show("numbers", pa.table({"n": [number]}))
        assert statements.rows("SELECT n FROM numbers") == [(number,)]
