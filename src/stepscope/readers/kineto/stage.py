"""Rows of `parsed` in, staged rows out: what Kineto's categories and arguments mean."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from stepscope.readers.kineto import sql
from stepscope.readers.kineto.names import meaning
from stepscope.store.staging import Staging

_TABLES: Final = (
    "CREATE TABLE kineto_names (cat VARCHAR, name VARCHAR, name_id INTEGER, category VARCHAR, is_work BOOLEAN, "
    "kind VARCHAR)",
    "CREATE TABLE kineto_tracks (track_key VARCHAR, track INTEGER)",
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

    def __call__(self) -> None:
        """Stage the chunk that is in `parsed`."""
        connection = self._staging.connection
        self._intern_names()
        self._intern_tracks()
        for statement in sql.STAGING:
            connection.execute(statement)
        [uncorrelated] = self._staging.one(sql.UNCORRELATED)
        if uncorrelated:
            connection.execute(sql.LAUNCH_ARROWS)
        self._staging.add_args(sql.ARGS)

    def _intern_names(self) -> None:
        rows = self._staging.connection.execute(sql.NEW_NAMES).fetchall()
        if not rows:
            return
        meanings = [meaning(cat, name) for cat, name in rows]
        self._staging.insert(
            "kineto_names",
            pa.table(
                {
                    "cat": [cat for cat, _ in rows],
                    "name": [name for _, name in rows],
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

    def _intern_tracks(self) -> None:
        connection = self._staging.connection
        for (key,) in connection.execute(sql.NEW_TRACKS).fetchall():
            kind, first, second = key.split("|", 2)
            if kind == "device":
                number = int(first) if re.fullmatch(r"-?[0-9]{1,8}", first) else None
                track = self._staging.track("device", device=number, stream=second)
            else:
                track = self._staging.track("host", process=first, thread=second)
            connection.execute("INSERT INTO kineto_tracks VALUES (?, ?)", [key, track])
