"""What every event has is looked for before a store is kept."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from stepscope.store.checking import check_events


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
