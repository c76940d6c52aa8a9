"""Rows of `parsed` in, staged rows out: what Kineto's categories and arguments mean."""

from __future__ import annotations

import re
from typing import Final

import duckdb
import pyarrow as pa

from stepscope.readers.kineto import sql
from stepscope.readers.kineto.decode import Lane
from stepscope.readers.kineto.names import meaning
from stepscope.store.staging import Staging, first_row

_TABLES: Final = (
    "CREATE TABLE kineto_names (name_key UBIGINT, name VARCHAR, name_id INTEGER, category VARCHAR, is_work BOOLEAN, "
    "kind VARCHAR)",
    "CREATE TABLE kineto_tracks (track_key UBIGINT, track INTEGER)",
    'CREATE TABLE kineto_collectives (event BIGINT, on_device BOOLEAN, collective VARCHAR, "group" VARCHAR, '
    "ranks VARCHAR, size INTEGER, elements_in BIGINT, elements_out BIGINT, dtype VARCHAR, seq BIGINT)",
    "CREATE TABLE kineto_flows (kind VARCHAR, key VARCHAR, is_source BOOLEAN, ts BIGINT, pid VARCHAR, tid VARCHAR)",
    "CREATE TABLE kineto_counters (ts BIGINT, pid VARCHAR, name VARCHAR, series VARCHAR, value DOUBLE)",
    "CREATE TABLE kineto_ends (i BIGINT, ph VARCHAR, ts BIGINT, pid VARCHAR, tid VARCHAR, cat VARCHAR, name VARCHAR)",
)


class Stager:
    """Stages the events in `parsed`, chunk by chunk."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        for statement in _TABLES:
            staging.connection.execute(statement)

    def __call__(self, lane: Lane) -> None:
        """Stage the lane's chunk."""
        connection = lane.connection
        self._intern_names(connection)
        self._intern_tracks(connection)
        for statement in sql.STAGING:
            connection.execute(statement)
        [uncorrelated] = first_row(connection, sql.UNCORRELATED)
        if uncorrelated:
            connection.execute(sql.LAUNCH_ARROWS)
        self._staging.add_args(sql.ARGS, connection)

    def _intern_names(self, connection: duckdb.DuckDBPyConnection) -> None:
        rows = connection.execute(sql.NEW_NAMES).fetchall()
        if not rows:
            return
        meanings = [meaning(cat, name) for _, cat, name in rows]
        self._staging.insert(
            "kineto_names",
            pa.table(
                {
                    "name_key": pa.array([key for key, _, _ in rows], pa.uint64()),
                    "name": [name for _, _, name in rows],
                    "name_id": pa.nulls(len(rows), pa.int32()),
                    "category": [m.category for m in meanings],
                    "is_work": [m.is_work for m in meanings],
                    "kind": pa.array([m.kind for m in meanings], pa.string()),
                }
            ),
        )
        self._staging.intern_names("kineto_names")
        self._staging.connection.execute(
            "UPDATE kineto_names SET name_id = names.name_id FROM names "
            "WHERE kineto_names.name_id IS NULL AND kineto_names.name = names.name"
        )

    def _intern_tracks(self, connection: duckdb.DuckDBPyConnection) -> None:
        for key, on_device, process, thread, device, stream in connection.execute(sql.NEW_TRACKS).fetchall():
            if on_device:
                recorded = device if device is not None else _integer(process)
                number = recorded if recorded is not None and abs(recorded) < 2**31 else None
                track = self._staging.track("device", device=number, stream=stream)
            else:
                track = self._staging.track("host", process=process, thread=thread)
            self._staging.connection.execute("INSERT INTO kineto_tracks VALUES (?, ?)", [key, track])


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None
