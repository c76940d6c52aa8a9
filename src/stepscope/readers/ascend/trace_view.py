"""Read `trace_view.json`: gather events chunk by chunk, and sort them by process at the end.

The metadata that names an event's process may follow the event.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from stepscope.language import said
from stepscope.readers.ascend import gather_trace
from stepscope.readers.ascend.processes import Process, processes
from stepscope.readers.content import Damage, content
from stepscope.readers.kineto.events import NONE, EventBatch, EventReader, layout
from stepscope.readers.kineto.reading import read_events
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
    "event_type": "VARCHAR",
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
    a."link type", a."size(Byte)", a.data_type, a."count", a.event_type,
    CASE WHEN a."Task Type" IS NOT NULL THEN args END
FROM (
    SELECT i, ts, CASE WHEN ph = 'X' THEN dur END AS dur, process, thread, cat, name,
        args::VARCHAR AS args, (args->>'$."task type"') AS part_type,
        json_transform(args, '{json.dumps(_ARGS)}') AS a
    FROM parsed WHERE is_span
)
"""
_SPANS_TABLE: Final = (
    "CREATE TABLE ascend_spans (i BIGINT, ts BIGINT, dur BIGINT, pid VARCHAR, tid VARCHAR, cat VARCHAR, name VARCHAR, "
    "connection BIGINT, queue BIGINT, level VARCHAR, task_type VARCHAR, model BIGINT, data_size BIGINT, "
    "direction VARCHAR, part_type VARCHAR, src BIGINT, dst BIGINT, transport VARCHAR, link VARCHAR, size BIGINT, "
    "dtype VARCHAR, elements BIGINT, mark VARCHAR, args VARCHAR)"
)

_PLAIN_ARGS: Final = """
SELECT i AS id, args::VARCHAR AS args FROM parsed
WHERE is_span AND args IS NOT NULL AND args <> '{}' AND NOT json_exists(args, '$."Task Type"')
"""

_INPUTS: Final = f"""
INSERT INTO ascend_inputs
SELECT i, a."Input Dims", a."Input type", a."Call stack", a."Module Hierarchy", a."Sequence number", a."Fwd thread id"
FROM (
    SELECT i, json_transform(args, '{json.dumps(_INPUT_ARGS)}') AS a
    FROM parsed WHERE is_span AND args IS NOT NULL
        AND (cat = 'cpu_op' OR cat = '' AND contains(args::VARCHAR, '"Sequence number"'))
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


#: What an event has beside its arguments; `key` is common to both ends of a flow.
_PARSED_TABLE: Final = (
    "CREATE TEMP TABLE parsed (i BIGINT, ph VARCHAR, ts BIGINT, dur BIGINT, is_span BOOLEAN, process VARCHAR, "
    "thread VARCHAR, cat VARCHAR, name VARCHAR, key VARCHAR, args JSON)"
)


class _TraceStager:
    """Gather events."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        for statement in (_SPANS_TABLE, _FLOWS_TABLE, _SAMPLES_TABLE, _PARSED_TABLE):
            staging.connection.execute(statement)

    def __call__(self, events: EventBatch) -> None:
        """Gather a batch."""
        connection = self._staging.connection
        self._staging.insert("parsed", _parsed(events))
        for statement in (_SPANS, _INPUTS, _FLOWS, _SAMPLES):
            connection.execute(statement)
        self._staging.add_args(_PLAIN_ARGS, connection)
        connection.execute("TRUNCATE parsed")


def _parsed(events: EventBatch) -> pa.Table:
    every = np.arange(len(events))
    is_flow = np.isin(events.phase, list(b"stf"))
    ph, cat, name = (events.texts("kind", position, every) for position in range(3))
    process, thread = (events.identities("where", position, every) for position in range(2))
    return pa.table(
        {
            "i": events.ids, "ph": ph, "ts": pa.array(events.ts, mask=events.ts == NONE),
            "dur": pa.array(events.dur, mask=events.dur == NONE), "is_span": events.is_span, "process": process,
            "thread": thread, "cat": cat.fill_null(""), "name": name.fill_null(""),
            "key": pa.compute.if_else(pa.array(is_flow), events.keys(every), None), "args": events.args(every),
        }
    )  # fmt: skip


def read_trace(sources: Sequence[Source], staging: Staging, progress: Progress) -> dict[str, Process]:
    """Gather every readable event of a trace, which may be in slices; returns the processes by id in the trace."""
    stage = _TraceStager(staging)
    metadata: list[tuple[str, str, str, str]] = []
    events = 0
    for source in sources:
        damage = Damage()
        with content(source, damage, progress) as read:
            reader = read_events(read, layout(), stage, first=events)
        _observe(staging, source.path.name, reader, damage)
        metadata += reader.metadata
        events += reader.events
    # Each slice names the processes again.
    found = processes(staging, list(dict.fromkeys(metadata)))
    gather_trace.gather(staging, found)
    return found


def _observe(staging: Staging, name: str, reader: EventReader, damage: Damage) -> None:
    mender = reader.text.mender
    damage.observe(staging)
    staging.observe(
        "events-repaired", "info", mender.repaired, said("events of {name} had broken JSON and were mended", name=name),
        "none for times; mended names may differ from the originals by a character",
    )  # fmt: skip
    staging.observe(
        "events-lost", "error", mender.lost + reader.text.lost,
        said("stretches of {name} could not be read as events", name=name), "they are missing from every number",
    )  # fmt: skip
    staging.observe(
        "events-untimed", "warning", reader.untimed,
        said("events of {name} have no number as their start time", name=name),
        "they are missing from every number",
    )  # fmt: skip
    staging.observe(
        "durations-missing", "warning", reader.endless, "intervals have no number as their duration",
        "they count as events of no duration",
    )  # fmt: skip
    staging.observe(
        "events-foreign", "info", reader.foreign, "events are of kinds that are not read (async, samples)",
        "none for numbers of steps, operators and device work",
    )  # fmt: skip
    staging.observe(
        "file-unreadable", "warning", int(not reader.events), said("{name} holds no event that can be read", name=name),
        "operators, calls and device work are missing except those in tables",
    )  # fmt: skip
    if reader.events and (mender.cut or mender.trailer is None):
        staging.observe(
            "truncated", "error", 1, said("{name} ends in the middle: its analysis was interrupted", name=name),
            "events are missing, and sums are lower bounds; run torch_npu.profiler.profiler.analyse on the raw data",
        )  # fmt: skip
