"""A table without rows has no file, and is a table all the same."""

from __future__ import annotations

import json
from pathlib import Path

from stepscope.ingest import Options, open_trace
from stepscope.store.layout import PLAIN_TABLES, SQL_TYPES

_TRACE = {"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 3}]}


def test_tables_without_rows_have_no_file(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text(json.dumps(_TRACE), encoding="utf-8")
    with open_trace(tmp_path / "trace.json", Options(store=tmp_path / "store")) as trace:
        files = {path.stem for path in tmp_path.rglob("*.parquet")}
        assert {"counters", "memory", "flows", "collectives", "input_calls"}.isdisjoint(files)
        assert {"activities", "names", "steps", "tracks", "health"} <= files
        for table in PLAIN_TABLES:
            types = {row["column_name"]: row["column_type"] for row in trace.rows(f'DESCRIBE "{table.name}"')}
            assert types == {column.name: SQL_TYPES[column.type] for column in table.columns}
        assert trace.scalar("SELECT count(*) FROM counters") == trace.scalar("SELECT count(*) FROM op_inputs") == 0
