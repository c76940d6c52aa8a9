"""Stage NVTX ranges and marks of the program, PyTorch and libraries on host threads."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from stepscope.readers.nsight.collectives import load_collectives
from stepscope.readers.nsight.loader import ExportLoader
from stepscope.readers.nsight.payload import PayloadSchemas
from stepscope.readers.nsight.range_categories import category
from stepscope.readers.sqlite.columns import Columns

#: Numbers of ENUM_NSYS_EVENT_TYPE; those from 64 on are of the older text interface.
_PUSH_POP: Final = (59, 70)
_START_END: Final = (60, 71)
_MARK: Final = (34, 65)
_DOMAIN: Final = (75,)
_THREAD_NAME: Final = (39,)

_COLUMNS: Final = Columns(
    ints=("start", "end", "eventType", "globalTid", "endGlobalTid", "textId", "domainId", "jsonTextId"),
    texts=("text", "jsonText"),
    blobs=("binaryData",),
)

#: Details that PyTorch's emit_nvtx appends to an operator's name, by their first words.
_DETAILS: Final = (", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = ")
_DETAILS_AT: Final = "least(" + ", ".join(f"nullif(instr(whole, '{mark}'), 0)" for mark in _DETAILS) + ")"

_TABLE: Final = (
    "CREATE TABLE nsight_nvtx (id BIGINT, start BIGINT, stop BIGINT, type BIGINT, global_tid BIGINT, process BIGINT, "
    "domain BIGINT, stays BOOLEAN, text VARCHAR, has_details BOOLEAN, payload VARCHAR, payload_bytes BLOB)"
)
#: The chunk with every row's text, split into name and details.
_SPLIT: Final = f"""
CREATE OR REPLACE TEMP TABLE nsight_split AS
SELECT * EXCLUDE (whole, details_at),
    CASE WHEN details_at IS NULL THEN whole ELSE left(whole, details_at - 1) END AS name,
    CASE WHEN details_at IS NOT NULL THEN substr(whole, details_at) END AS details,
    CASE WHEN details_at IS NOT NULL OR domain <> 0 THEN whole END AS whole
FROM (
    SELECT *, {_DETAILS_AT} AS details_at FROM (
        SELECT c.id, c.start, c."end" AS stop, c.eventType AS type, coalesce(c.globalTid, 0) AS global_tid,
            coalesce(c.domainId, 0) AS domain, coalesce(c.endGlobalTid, c.globalTid, 0) = coalesce(c.globalTid, 0)
            AS stays, coalesce(c.text, s.value, '#' || c.textId, '') AS whole, coalesce(c.jsonText, j.value) AS payload,
            c.binaryData AS payload_bytes
        FROM chunk c
        LEFT JOIN nsight_strings s ON c.text IS NULL AND s.id = c.textId
        LEFT JOIN nsight_strings j ON c.jsonText IS NULL AND j.id = c.jsonTextId
        WHERE c.eventType IS NOT NULL
    )
)
"""
_FILL: Final = """
INSERT INTO nsight_nvtx
SELECT id, start, stop, type, global_tid, global_tid - (global_tid & 16777215), domain, stays, name,
    details IS NOT NULL, payload, payload_bytes
FROM nsight_split
"""
_RANGE_TYPES: Final = f"IN ({', '.join(map(str, (*_PUSH_POP, *_START_END, *_MARK)))})"
_IS_RANGE: Final = f"start IS NOT NULL AND type {_RANGE_TYPES}"
_LABELS: Final = f"""
CREATE TABLE nsight_ranges AS
SELECT n.id, n.start, n.stop, n.type, n.global_tid, n.process, n.domain, n.text, n.has_details,
    coalesce(d.prefix, CASE n.domain WHEN 0 THEN '' ELSE 'domain ' || n.domain || ':' END) || n.text AS name
FROM nsight_nvtx n LEFT JOIN nsight_domains d ON d.process = n.process AND d.domain = n.domain
WHERE {_IS_RANGE}
"""
#: What `record_function` marks gets an operator's details as well, but has no operator's name:
#: `FSDP::pre_forward (layer)`, `Optimizer.step#AdamW.step`, `DistributedDataParallel.forward`; but the operator
#: `torch.distributed.ddp.reducer::copy_bucket_to_grad`.
_MARKED: Final = r"[\s(#]|^[^:]*\.[^:]*$"
_EVENTS: Final = f"""
INSERT INTO raw_events BY NAME
SELECT r.id, r.start AS ts, CASE WHEN r.type IN {_MARK} THEN NULL ELSE coalesce(r.stop, $stop) - r.start END AS dur,
    t.track, n.name_id,
    CASE WHEN r.has_details AND m.category = 'annotation' AND NOT regexp_matches(r.text, '{_MARKED}') THEN 'op'
        ELSE m.category END AS category
FROM nsight_ranges r
JOIN nsight_range_tracks t ON t.global_tid = r.global_tid AND t.is_start_end = (r.type IN {_START_END})
JOIN names n ON n.name = r.name
JOIN nsight_range_names m ON m.name = r.name
"""
_NO_OPERATORS: Final = "DELETE FROM op_inputs WHERE event NOT IN (SELECT id FROM raw_events WHERE category = 'op')"
#: Sizes extend to the ids of inputs or to the end; a sequence number to a comma or the end.
_INPUTS: Final = f"""
INSERT INTO op_inputs BY NAME
SELECT id AS event, CASE WHEN starts_with(sizes, '[') AND ends_with(sizes, ']') THEN sizes END AS shapes,
    try_cast(split_part(seq, ',', 1) AS BIGINT) AS sequence
FROM (
    SELECT id, CASE WHEN seq_at > 0 THEN substr(details, seq_at + 6, 20) END AS seq, CASE WHEN sizes_at = 0 THEN NULL
        WHEN ids_at > sizes_at THEN substr(details, sizes_at + 8, ids_at - sizes_at - 8)
        ELSE substr(details, sizes_at + 8) END AS sizes
    FROM (
        SELECT id, details, instr(details, 'seq = ') AS seq_at, instr(details, 'sizes = ') AS sizes_at,
            instr(details, ', input_op_ids') AS ids_at
        FROM nsight_split WHERE details IS NOT NULL AND {_IS_RANGE}
    ) WHERE seq_at > 0 OR sizes_at > 0
)
"""
_ARGS: Final = f"""
SELECT id, json_object('text', whole)::VARCHAR AS args FROM nsight_split WHERE whole IS NOT NULL AND {_IS_RANGE}
ORDER BY id
"""


def load_nvtx(loader: ExportLoader, stop: int | None) -> None:
    """Stage ranges and marks; an open range ends at `stop`, the end of the recording in ns."""
    connection = loader.staging.connection
    connection.execute(_TABLE)
    unusable = f"eventType IS NULL OR (eventType {_RANGE_TYPES} AND start IS NULL)"
    for _ in loader.chunks("NVTX_EVENTS", _COLUMNS, unusable):
        connection.execute(_SPLIT)
        connection.execute(_FILL)
        connection.execute(_INPUTS)
        if loader.staging.one("SELECT count(whole) FROM nsight_split") != (0,):
            loader.staging.add_args(_ARGS)
    schemas = PayloadSchemas.load(loader.tables)
    _name_domains(loader, schemas)
    connection.execute(_LABELS)
    _understand_names(loader)
    _make_tracks(loader)
    connection.execute(_EVENTS, {"stop": stop})
    connection.execute(_NO_OPERATORS)
    [still_open] = loader.staging.one(f"SELECT count(*) FROM nsight_ranges WHERE stop IS NULL AND type NOT IN {_MARK}")
    load_collectives(loader, schemas)
    loader.staging.observe(
        "ranges-open", "info", still_open, "NVTX ranges were still open when the recording ended",
        "they are taken to end with the recording",
    )  # fmt: skip


def thread_names(loader: ExportLoader) -> list[tuple[int, str]]:
    """Thread names given by the program: (globalTid, name)."""
    return loader.staging.connection.execute(
        f"SELECT global_tid, text FROM nsight_nvtx WHERE type = {_THREAD_NAME[0]} AND text <> '' ORDER BY id"
    ).fetchall()


def _name_domains(loader: ExportLoader, schemas: PayloadSchemas) -> None:
    """Create table `nsight_domains`: the prefix of each domain's range names."""
    connection = loader.staging.connection
    connection.execute(
        "CREATE TABLE nsight_domains AS SELECT process, domain, any_value(text) || ':' AS prefix FROM nsight_nvtx "
        f"WHERE type = {_DOMAIN[0]} AND text <> '' AND domain <> 0 GROUP BY ALL"
    )
    # A truncated recording may lack the row with the domain's name; its payloads identify it.
    for domain in schemas.nccl_domains:
        connection.execute(
            "INSERT INTO nsight_domains SELECT DISTINCT process, domain, 'NCCL:' FROM nsight_nvtx n "
            "WHERE domain = $d AND process NOT IN (SELECT process FROM nsight_domains WHERE domain = $d)",
            {"d": domain},
        )


def _understand_names(loader: ExportLoader) -> None:
    loader.staging.intern_names("nsight_ranges")
    rows = loader.staging.connection.execute("SELECT DISTINCT name FROM nsight_ranges").fetchall()
    loader.staging.connection.execute("CREATE TABLE nsight_range_names (name VARCHAR, category VARCHAR)")
    columns: dict[str, list[Any]] = {"name": [n for (n,) in rows], "category": [category(n) for (n,) in rows]}
    loader.staging.insert(
        "nsight_range_names", pa.table(columns, schema=pa.schema(dict.fromkeys(columns, pa.string())))
    )


def _make_tracks(loader: ExportLoader) -> None:
    """Create tracks of ranges. Start/end ranges need not nest with calls, so they get separate tracks first."""
    connection = loader.staging.connection
    loader.add_threads("global_tid", "nsight_ranges")
    connection.execute(
        "CREATE TABLE nsight_range_tracks AS SELECT global_tid, false AS is_start_end, track FROM nsight_threads"
    )
    rows = connection.execute(
        f"SELECT DISTINCT global_tid FROM nsight_ranges WHERE type IN {_START_END} ORDER BY 1"
    ).fetchall()
    apart = [(thread, True, loader.thread(thread, " start-end ranges")) for (thread,) in rows]
    loader.staging.insert_rows("nsight_range_tracks", apart)
