"""Columns are the same whichever way they are fetched."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from stepscope.model.process.fetching import fetch, fetch_many
from stepscope.model.sizes import SIZES
from support import Facts

KINDS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE")


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@pytest.mark.parametrize("rows", [0, 1, 200_000])
def test_numbers_are_the_same(connection: duckdb.DuckDBPyConnection, rows: int) -> None:
    columns = ", ".join(f"(range % 100)::{kind} AS {kind.lower()}" for kind in KINDS)
    query = f"SELECT {columns}, range % 3 = 0 AS third FROM range(?)"
    one, other = fetch(connection, query, [rows]), fetch_many(connection, query, [rows])
    assert list(one) == list(other)
    for name, values in one.items():
        assert other[name].dtype == values.dtype
        np.testing.assert_array_equal(other[name], values)
        assert other[name].flags.writeable


def test_nulls_are_masked(connection: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT nullif(range % 4, 1)::INTEGER AS a, range AS b FROM range(8)"
    for way in (fetch, fetch_many):
        found = way(connection, query, None)
        assert np.ma.getmaskarray(found["a"]).tolist() == [False, True, False, False] * 2
        assert found["a"].compressed().tolist() == [0, 2, 3] * 2  # type: ignore[attr-defined]
        assert not np.ma.isMaskedArray(found["b"])


def test_other_types_are_fetched_as_before(connection: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT 'x' || range AS text, sum(range) AS total FROM range(3) GROUP BY range ORDER BY ALL"
    for way in (fetch, fetch_many):
        found = way(connection, query, None)
        assert found["text"].tolist() == ["x0", "x1", "x2"]
        assert found["total"].dtype == np.float64


@pytest.mark.parametrize("streamed", [0, 1 << 30])
def test_columns_of_a_trace_hold_no_nulls(streamed: int) -> None:
    facts = Facts()
    facts.host("op", "aten::add", 100, 500)
    trace = facts.trace()
    with SIZES.changed(streamed_events=streamed):
        assert trace.columns("SELECT ts, dur FROM spans", many=True)["dur"].tolist() == [500]
        with pytest.raises(ValueError, match="parent holds nulls"):
            trace.columns("SELECT parent FROM spans", many=True)
