"""Read `trace_view.json`: gather events chunk by chunk, and sort them by process at the end.

The metadata that names an event's process may follow the event.
"""

from __future__ import annotations

from typing import Final

from stepscope.readers.ascend import gather_trace
from stepscope.readers.ascend.processes import Process, processes
from stepscope.readers.content import Damage, content
from stepscope.readers.kineto.chunk_buffer import ChunkBuffer
from stepscope.readers.kineto.decode import Decoder
from stepscope.readers.kineto.framing import Framer, gather
from stepscope.readers.kineto.parsing import structure
from stepscope.readers.kineto.texts import chunk_texts
from stepscope.readers.protocol import Progress, Source
from stepscope.store.staging import Staging

#: (Field names of a structure ignore case, so that "task type" is looked up apart from "Task Type".)
_ARGS: Final = {
    "connection_id": "BIGINT",
    "correlation_id": "BIGINT",
    "level": "VARCHAR",
    "Task Type": "VARCHAR",
    "Model Id": "BIGINT",
    "data size(Byte)": "BIGINT",
    "memcpy direction": "VARCHAR",
    "src rank": "BIGINT",
    "dst rank": "BIGINT",
    "transport type": "VARCHAR",
    "link type": "VARCHAR",
    "size(Byte)": "BIGINT",
    "data_type": "VARCHAR",
    "count": "BIGINT",
}
_INPUT_ARGS: Final = {
    "Input Dims": "VARCHAR",
    "Input type": "VARCHAR",
    "Call stack": "VARCHAR",
    "Module Hierarchy": "VARCHAR",
    "Sequence number": "BIGINT",
    "Fwd thread id": "BIGINT",
}

#: Columns of an interval; arguments are stored apart, except those of device work.
_SPANS: Final = f"""
INSERT INTO ascend_spans
SELECT i, ts, dur, process, thread, cat, name, a.connection_id, a.correlation_id, a.level, a."Task Type", a."Model Id",
    a."data size(Byte)", a."memcpy direction", part_type, a."src rank", a."dst rank", a."transport type",
    a."link type", a."size(Byte)", a.data_type, a."count", CASE WHEN a."Task Type" IS NOT NULL THEN args END
FROM (
    SELECT i, ts, CASE WHEN ph = 'X' THEN dur END AS dur, process, thread, cat, name,
        args::VARCHAR AS args, (args->>'$."task type"') AS part_type,
        json_transform(args, {structure(dict(_ARGS))}) AS a
    FROM parsed WHERE is_span
)
"""
_SPANS_TABLE: Final = (
    "CREATE TABLE ascend_spans (i BIGINT, ts BIGINT, dur BIGINT, pid VARCHAR, tid VARCHAR, cat VARCHAR, name VARCHAR, "
    "connection BIGINT, queue BIGINT, level VARCHAR, task_type VARCHAR, model BIGINT, data_size BIGINT, "
    "direction VARCHAR, part_type VARCHAR, src BIGINT, dst BIGINT, transport VARCHAR, link VARCHAR, size BIGINT, "
    "dtype VARCHAR, elements BIGINT, args VARCHAR)"
)

_PLAIN_ARGS: Final = """
SELECT i AS id, args::VARCHAR AS args FROM parsed
WHERE is_span AND args IS NOT NULL AND args <> '{}' AND NOT json_exists(args, '$."Task Type"')
"""

_INPUTS: Final = f"""
INSERT INTO ascend_inputs
SELECT i, a."Input Dims", a."Input type", a."Call stack", a."Module Hierarchy", a."Sequence number", a."Fwd thread id"
FROM (
    SELECT i, json_transform(args, {structure(dict(_INPUT_ARGS))}) AS a
    FROM parsed WHERE is_span AND cat = 'cpu_op' AND args IS NOT NULL
)
"""

_FLOWS_TABLE: Final = (
    "CREATE TABLE ascend_flows (cat VARCHAR, key VARCHAR, is_source BOOLEAN, ts BIGINT, pid VARCHAR, tid VARCHAR)"
)
_FLOWS: Final = """
INSERT INTO ascend_flows
SELECT cat, key, ph = 's', ts, process, thread
FROM parsed WHERE ph IN ('s', 'f', 't') AND ts IS NOT NULL
"""

#: `acc_id` is no series: it identifies the accelerator of a sample.
_SAMPLES_TABLE: Final = (
    "CREATE TABLE ascend_samples (ts BIGINT, pid VARCHAR, name VARCHAR, series VARCHAR, value DOUBLE)"
)
_SAMPLES: Final = """
INSERT INTO ascend_samples
SELECT ts, process, CASE WHEN (args->>'$.acc_id') IS NULL THEN name ELSE name || ' ' || (args->>'$.acc_id') END,
    kv.key, try_cast(kv.value AS DOUBLE)
FROM parsed, unnest(
    CASE WHEN json_type(args) = 'OBJECT' THEN map_entries(CAST(args::JSON AS MAP(VARCHAR, VARCHAR))) END
) AS u(kv)
WHERE ph = 'C' AND ts IS NOT NULL AND args IS NOT NULL AND kv.key <> 'acc_id'
"""


class _TraceStager:
    """Gather the events of chunks in `parsed`."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        for statement in (_SPANS_TABLE, _FLOWS_TABLE, _SAMPLES_TABLE):
            staging.connection.execute(statement)

    def __call__(self, buffer: ChunkBuffer) -> None:
        """Gather the buffer's chunk."""
        buffer.statements.show("parsed", buffer.parsed.table)
        for statement in (_SPANS, _INPUTS, _FLOWS, _SAMPLES):
            buffer.statements.run(statement)
        self._staging.add_args(_PLAIN_ARGS, buffer.statements.connection)


def read_trace(source: Source, staging: Staging, progress: Progress) -> dict[str, Process]:
    """Gather every readable event of a trace; returns the processes by id in the trace."""
    damage = Damage()
    framer = Framer()
    with content(source, damage, progress) as read, Decoder(staging, _TraceStager(staging)) as decoder:
        for chunk in gather(framer.segments(read)):
            decoder.add(chunk, chunk_texts(chunk))
        decoder.finish()
    _observe(staging, source.path.name, framer, decoder, damage)
    found = processes(staging, decoder.metadata)
    gather_trace.gather(staging, found)
    return found


def _observe(staging: Staging, name: str, framer: Framer, decoder: Decoder, damage: Damage) -> None:
    mender = decoder.mender
    damage.observe(staging)
    staging.observe(
        "events-repaired", "info", mender.repaired, f"events of {name} had broken JSON and were mended",
        "none for times; mended names may differ from the originals by a character",
    )  # fmt: skip
    staging.observe(
        "events-lost", "error", mender.lost + framer.lost,
        f"stretches of {name} could not be read as events", "they are missing from every number",
    )  # fmt: skip
    staging.observe(
        "events-untimed", "warning", decoder.untimed, f"events of {name} have no number as their start time",
        "they are missing from every number",
    )  # fmt: skip
    staging.observe(
        "file-unreadable", "warning", int(not decoder.events), f"{name} holds no event that can be read",
        "operators, calls and device work are missing except those in tables",
    )  # fmt: skip
    if decoder.events and (mender.cut or mender.trailer is None):
        staging.observe(
            "truncated", "error", 1, f"{name} ends in the middle: its analysis was interrupted",
            "events are missing, and sums are lower bounds; run torch_npu.profiler.profiler.analyse on the raw data",
        )  # fmt: skip
