"""What every event has is looked for before a store is kept."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from stepscope.ingest import Options, open_trace
from stepscope.ingest.derive import derive
from stepscope.store.checking import check_events
from stepscope.store.staging import Staging


def write(folder: Path, category: str, dur: str = "5") -> None:
    duckdb.execute(
        f"COPY (SELECT 7 AS id, 3 AS ts, {dur} AS dur, 0 AS track, 1 AS name_id, {category} AS category) "
        f"TO '{folder / 'events-host-00001.parquet'}'"
    )


def test_events_without_a_category_are_not_kept(tmp_path: Path) -> None:
    write(tmp_path, "NULL::VARCHAR")
    with pytest.raises(RuntimeError, match="1 events were stored without category"):
        check_events(tmp_path, duckdb.connect())


def test_what_may_be_missing_may_be_missing(tmp_path: Path) -> None:
    write(tmp_path, "'op'", dur="NULL::BIGINT")
    check_events(tmp_path, duckdb.connect())


def test_such_a_recording_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "trace.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 3}
    trace.write_text(json.dumps([event]), encoding="utf-8")
    options = Options(store=tmp_path / "store")

    def derive_badly(staging: Staging) -> int | None:
        origin = derive(staging)
        write(staging.folder, "NULL::VARCHAR")
        return origin

    with monkeypatch.context() as patched:
        patched.setattr("stepscope.ingest.derive.derive", derive_badly)
        with pytest.raises(RuntimeError, match="without category"):
            open_trace(trace, options)
    with open_trace(trace, options) as opened:
        assert opened.scalar("SELECT category FROM events") == "op"
