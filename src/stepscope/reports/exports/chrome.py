"""The Trace Event Format, which Perfetto, chrome://tracing and stepscope itself open.

Events go out sorted by track and time, outer ones first; events that overlap on a track without nesting go to extra
tracks, since viewers drop or misplace them otherwise. Times are exact: microseconds with three decimals.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from stepscope.model.trace import Trace
from stepscope.reports.exports import chrome_sql
from stepscope.reports.exports.chrome_categories import category_rows
from stepscope.reports.exports.chrome_metadata import document_head, metadata_events
from stepscope.reports.exports.chrome_tracks import EventPlaces, places_of

_BATCH_ROWS: Final = 20_000
#: Sorting spills to disk beyond it.
_MEMORY_MB: Final = 1000

_CATEGORIES: Final = pa.schema(
    [("category", pa.string()), ("on_device", pa.bool_()), ("name", pa.string()), ("cat", pa.string())]
)

_KINDS_SQL: Final = """
SELECT DISTINCT s.category, t.kind = 'device' AS on_device, n.name
FROM spans s JOIN names n USING (name_id) JOIN tracks t USING (track)
"""


def lines(traces: Sequence[Trace]) -> Iterator[str]:
    """The text of a Chrome trace of one or more ranks, in chunks.

    Args:
        traces: Traces of one rank each.
    """
    shift = max((-int(trace.scalar(chrome_sql.EARLIEST) or 0) for trace in traces), default=0)
    shift = max(0, shift)  # Perfetto drops what lies before 0, such as samples from before the first event
    yield document_head(traces, shift) + '"traceEvents": [\n'
    separator = ""
    flows = 0
    for trace in traces:
        places = places_of(trace, several=len(traces) > 1)
        for part in _of_rank(trace, places, flows, shift):
            yield separator + part
            separator = ",\n"
        flows += int(trace.scalar("SELECT count(*) FROM flows"))
    yield "\n]}\n"


def _of_rank(trace: Trace, places: EventPlaces, first_flow: int, shift: int) -> Iterator[str]:
    for event in metadata_events(places):
        yield json.dumps(event)
    kinds = pa.Table.from_pylist(category_rows(trace.rows(_KINDS_SQL)), schema=_CATEGORIES)
    joined = trace.with_tables(export_places=places.events, export_categories=kinds)
    joined.limit_memory(_MEMORY_MB)
    for query, parameters in (
        (chrome_sql.EVENTS, {}),
        (chrome_sql.FLOWS, {"first": first_flow}),
        (chrome_sql.MEMORY, {"pid": places.host_pid}),
        (chrome_sql.COUNTERS, {"pid": places.host_pid}),
    ):
        for batch in joined.batches(query, {"shift": shift, **parameters}, _BATCH_ROWS):
            if batch.num_rows:
                yield ",\n".join(batch.column(0).to_pylist())
