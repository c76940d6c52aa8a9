"""Every analysis and rule lives with what may be missing: nulls wherever the schema admits them, and empty tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import duckdb
import pytest

from readers.conformance import check_report
from series import WHOLE, series
from stepscope.ingest import Options, open_trace
from stepscope.model.schema import TableSchema
from stepscope.model.tables import EVENTS, KERNELS
from stepscope.model.tables.memory import MEMORY_TABLES
from stepscope.simulate import SimJob, simulate
from stepscope.store.activities import ACTIVITIES, LAUNCH_COLUMNS, OP_COLUMNS
from stepscope.store.layout import MANIFEST, PARQUET, PLAIN_TABLES, stored_columns
from stepscope.store.opening import open_stores
from support import shared_traces

SIMULATED = {
    "kineto": SimJob(ranks=2, steps=2, layers=1, with_stack=True, items_per_step=1),
    "nsight": SimJob(steps=2, layers=1, graph=True),
    "ascend": SimJob(steps=2, layers=1, device="ascend910b2"),
    "memsnapshot": SimJob(steps=2, layers=1),
}
RECORDED = (
    "kineto/a100_nccl_args/trace.json.gz",
    "ascend/alexnet_ddp_level1_text/rank0_ascend_pt",
    "nsys/lm_2_7b.sqlite",
    "memory/train_ctx150.pickle",
)
#: Columns that are null only where others say why (no depth on device queues, no time of what has no place in a
#: history), or stored apart.
_DERIVED = {
    *(("events", name) for name in ("depth", "parent", "args")),
    *((table.name, name) for table in MEMORY_TABLES for name in ("device", "ts", "freed_ts", "reusable_ts")),
}
_OPTIONAL = [table.name for table in PLAIN_TABLES if table.name != "tracks"]
_TABLES = {table.name: table for table in (EVENTS, *PLAIN_TABLES)} | {ACTIVITIES.name: KERNELS}
#: What is known of a launch or operator is so only where it is known itself.
_FOLLOWING = {KERNELS.name: {"launch": LAUNCH_COLUMNS, "op": OP_COLUMNS}}

#: Columns to select of a table, and of which rows.
Rewriting = Callable[[TableSchema], tuple[str, str]]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Gives the stored ranks of a recording, which is read once."""
    return cache(lambda name: read(name, tmp_path_factory.mktemp("stored")))


@pytest.fixture
def stores(request, stored):
    return stored(request.param)


def read(name: str, folder: Path) -> list[Path]:
    job = SIMULATED.get(name)
    if job is not None:
        source = folder / ("job" if job.ranks > 1 or name == "ascend" else "job.json")
        simulate(job, source, name)
    elif (traces := shared_traces()) is not None:
        source = traces / name
    else:
        pytest.skip("the shared recordings are not beside this checkout")
    open_trace(source, Options(store=folder / "store")).close()
    return sorted(path.parent for path in folder.rglob(MANIFEST))


def check_without(stores: list[Path], folder: Path, query: Rewriting) -> None:
    """Rewrite the tables of a recording, and have it analysed."""
    changed = {}
    with duckdb.connect() as connection:
        for rank, store in enumerate(stores):
            changed[rank] = folder / str(rank)
            shutil.copytree(store, changed[rank])
            for file in changed[rank].glob("*.parquet"):
                table = _TABLES.get(file.stem.split("-")[0])
                if table is not None:
                    columns, condition = query(table)
                    rows = f"SELECT *, row_number() OVER () AS nth FROM read_parquet('{store / file.name}')"
                    connection.execute(
                        f"COPY (SELECT {columns} FROM ({rows}) WHERE {condition}) TO '{file}' ({PARQUET})"
                    )
    with open_stores(changed) as trace:
        check_report(trace)


def nulled(table: TableSchema, percent: int) -> str:
    """Select a table with nulls in so many of the values that may be null, drawn by their place."""
    names = [c.name for c in stored_columns(table) if c.nullable and (table.name, c.name) not in _DERIVED]
    following = _FOLLOWING.get(table.name, {})
    chosen = [(n, n) for n in names] + [(key, c.name) for key, columns in following.items() for c in columns]
    nulls = [f'CASE WHEN hash(nth, \'{key}\') % 100 >= {percent} THEN "{n}" END AS "{n}"' for key, n in chosen]
    return f"* EXCLUDE (nth) REPLACE ({', '.join(nulls)})" if nulls else "* EXCLUDE (nth)"


def emptied():
    """Every choice of empty tables of every recording; in a sample all of the first one's, and one of each other's."""
    chosen = {"steps": ["steps"], "even": _OPTIONAL[::2], "odd": _OPTIONAL[1::2]}
    return [
        pytest.param(name, empty, marks=pytest.mark.series, id=f"{name}-{which}")
        for place, name in enumerate([*SIMULATED, *RECORDED])
        for turn, (which, empty) in enumerate(chosen.items())
        if WHOLE or place == 0 or (name not in RECORDED[1:] and (place + turn) % len(chosen) == 0)
    ]


@pytest.mark.parametrize("stores", [*SIMULATED, *series(RECORDED, 1)], indirect=True)
@pytest.mark.parametrize("percent", series([40, 4, 100], 1))
def test_values_are_missing(stores, tmp_path, percent):
    check_without(stores, tmp_path, lambda table: (nulled(table, percent), "true"))


@pytest.mark.parametrize(("stores", "empty"), emptied(), indirect=["stores"])
def test_tables_are_empty(stores, tmp_path, empty):
    check_without(stores, tmp_path, lambda table: ("* EXCLUDE (nth)", str(table.name not in empty)))
