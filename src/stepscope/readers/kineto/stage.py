"""Rows of `parsed` in, staged rows out: what Kineto's categories and arguments mean."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa

from stepscope.readers.kineto import sql, work_sql
from stepscope.readers.kineto.decode import Lane
from stepscope.readers.kineto.names import is_on_device, meaning
from stepscope.store.staging import Staging, first_row

#: The host operator that describes a collective in its arguments.
_COMM_PARAMS: Final = "record_param_comms"


class _Name(NamedTuple):
    """A category and name as recorded, and the key that stands for both."""

    key: int
    cat: str
    name: str


class Stager:
    """Stages the events in `parsed`, chunk by chunk."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        for statement in sql.TABLES:
            staging.connection.execute(statement)

    def __call__(self, lane: Lane) -> None:
        """Stage the lane's chunk."""
        connection = lane.connection
        names, tracks, texts = first_row(connection, sql.UNKNOWN)
        if names or tracks or texts or lane.others:
            connection.execute(sql.fresh_sql(lane.rows("fresh")))
        if names:
            self._intern_names(connection)
        if tracks:
            self._intern_tracks(connection)
        if texts:
            connection.execute(sql.NEW_TEXTS)
            connection.execute(sql.FILL_TEXTS)
        others = dict.fromkeys(sql.BY_PHASE[phase] for phase in lane.others if phase in sql.BY_PHASE)
        for statement in (*sql.STAGING, *others):
            connection.execute(statement)
        [uncorrelated] = first_row(connection, work_sql.UNCORRELATED)
        if uncorrelated:
            connection.execute(work_sql.LAUNCH_ARROWS)
        self._staging.add_args(sql.args_sql(lane.source, all_rows=not lane.others_have_args), connection)

    def _intern_names(self, connection: duckdb.DuckDBPyConnection) -> None:
        rows = connection.execute(sql.NEW_NAMES).fetchall()
        if rows:
            self._add_names([_Name(*row) for row in rows])
        connection.execute(sql.FILL_NAMES)

    def _add_names(self, names: list[_Name]) -> None:
        meanings = [meaning(name.cat, name.name) for name in names]
        columns = {
            "name_key": pa.array([name.key for name in names], pa.uint64()),
            "name": [name.name for name in names],
            "name_id": pa.nulls(len(names), pa.int32()),
            "category": [m.category for m in meanings],
            "is_work": [m.is_work for m in meanings],
            "kind": pa.array([m.kind for m in meanings], pa.string()),
            "has_details": [
                m.is_work or (n.name == _COMM_PARAMS and not is_on_device(n.cat))
                for n, m in zip(names, meanings, strict=True)
            ],
            "on_device": [is_on_device(name.cat) for name in names],
        }
        self._staging.insert("kineto_names", pa.table(columns))
        self._staging.intern_names("kineto_names")
        self._staging.connection.execute(work_sql.DESCRIBE_NAMES)

    def _intern_tracks(self, connection: duckdb.DuckDBPyConnection) -> None:
        for key, on_device, process, thread, device, stream in connection.execute(sql.NEW_TRACKS).fetchall():
            if on_device:
                recorded = device if device is not None else _integer(process)
                number = recorded if recorded is not None and abs(recorded) < 2**31 else None
                track = self._staging.track("device", device=number, stream=stream)
            else:
                track = self._staging.track("host", process=process, thread=thread)
            self._staging.connection.execute("INSERT INTO kineto_tracks VALUES (?, ?)", [key, track])
        connection.execute(sql.FILL_TRACKS)


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None
