"""Events of a snapshot's history: annotated ranges, and the allocator's requests to the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from stepscope.readers.memsnapshot.annotations import AnnotatedRange
from stepscope.store.staging import Staging

#: Actions that become events: the allocator's rare requests to the device. Allocations and frees are in `memory`.
_INSTANTS_SQL: Final = """
INSERT INTO stated
SELECT e.ts + ?, NULL, ?, action, 'other' FROM allocator_events e
WHERE device = ? AND action NOT IN ('alloc', 'free', 'free_requested', 'free_completed') ORDER BY e.seq
"""

_EVENTS_SQL: Final = """
INSERT INTO raw_events BY NAME
SELECT row_number() OVER () - 1 AS id, ts, dur, track, name_id, category FROM stated JOIN names USING (name)
"""


def stage_marks(
    staging: Staging, spans: dict[int, tuple[int, int | None]], annotated: Sequence[AnnotatedRange], origin: int
) -> None:
    """Fill `raw_events`, and set the track of allocations inside annotated ranges.

    Args:
        staging: The staging area.
        spans: Start and duration of each device's history in ns; the duration is None where there is none.
        annotated: The annotated ranges.
        origin: The time in ns that is 0 in `allocator_events`.
    """
    connection = staging.connection
    connection.execute(
        "CREATE TEMP TABLE stated (ts BIGINT, dur BIGINT, track INTEGER, name VARCHAR, category VARCHAR)"
    )
    for device, (start, dur) in spans.items():
        track = staging.track("host", process=f"device {device}", thread="allocator")
        name = "memory snapshot" if dur is None else "memory history"
        connection.execute("INSERT INTO stated VALUES (?, ?, ?, ?, 'other')", [start, dur, track, name])
        connection.execute(_INSTANTS_SQL, [origin, track, device])
    tracks = {
        device: staging.track("host", process=f"device {device}", thread="annotations")
        for device in sorted({stretch.device for stretch in annotated})
    }
    if annotated:
        columns = {
            "ts": pa.array([stretch.ts for stretch in annotated], pa.int64()),
            "dur": pa.array([stretch.dur for stretch in annotated], pa.int64()),
            "track": pa.array([tracks[stretch.device] for stretch in annotated], pa.int32()),
            "name": pa.array([stretch.name for stretch in annotated]),
            "category": pa.array([stretch.category for stretch in annotated]),
        }
        staging.insert("stated", pa.table(columns))
    staging.intern_names("stated")
    connection.execute(_EVENTS_SQL)
    for device, track in tracks.items():
        connection.execute("UPDATE raw_memory SET track = ? WHERE device = ?", [track, device])
