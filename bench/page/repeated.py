"""A store that holds another one many times over, one after the other in time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import duckdb

from stepscope.store.layout import PARQUET
from stepscope.store.manifest import read_manifest, write_manifest

#: Columns that name events, and columns of times; both are shifted from one repetition to the next.
_IDS: Final = {"id", "parent", "event", "launch", "op", "module", "graph", "source", "target", "owner"}
_TIMES: Final = {"ts", "begin", "end", "launch_ts", "op_ts"}
_STEPS: Final = {"step", "launch_step"}
#: Files with a row per event, or per moment; all others are copied. Arguments and inputs stay those of the first.
_REPEATED: Final = ("events-", "activities", "copies", "collectives", "flows", "memory", "counters", "steps")


def repeat(store: Path, out: Path, times: int) -> int:
    """Write a store with so many repetitions; returns its number of events."""
    out.mkdir(parents=True)
    connection = duckdb.connect()
    events = f"read_parquet('{store}/events-*.parquet')"
    most, length = connection.execute(
        f"SELECT max(id) + 1, max(ts + coalesce(dur, 0)) - min(ts) + 1000 FROM {events}"
    ).fetchone()
    steps = connection.execute(f"SELECT coalesce(max(step), 0) + 1 FROM {events}").fetchone()[0]
    shifts = dict.fromkeys(_IDS, most) | dict.fromkeys(_TIMES, length) | dict.fromkeys(_STEPS, steps)
    for file in sorted(store.glob("*.parquet")):
        if not file.name.startswith(_REPEATED):
            (out / file.name).write_bytes(file.read_bytes())
            continue
        known = connection.execute(f"DESCRIBE SELECT * FROM read_parquet('{file}')").fetchall()
        columns = ", ".join(
            f'("{name}" + k * {shifts[name]})::{kind} AS "{name}"'
            if name in shifts and kind != "VARCHAR"
            else f'"{name}"'
            for name, kind, *_ in known
        )
        names = {name for name, *_ in known}
        order = [name for name in ("track", "ts", "id") if name in names] or ["k"]
        connection.execute(
            f"COPY (SELECT {columns} FROM read_parquet('{file}'), range({times}) r(k) ORDER BY {', '.join(order)}) "
            f"TO '{out / file.name}' ({PARQUET})"
        )
    recording = read_manifest(store)
    write_manifest(out, replace(recording, events=recording.events * times), connection)
    return recording.events * times
