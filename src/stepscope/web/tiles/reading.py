"""The events of one track, read from the trace."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.categories import CATEGORIES
from stepscope.model.coding import code
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.trace import Trace
from stepscope.web.tiles.entries import TrackEvents
from stepscope.web.tiles.lanes import fitted_lanes, nested_lanes
from stepscope.web.tiles.track import KINDS, LAYERS, MARKS, TimelineTrack

_THREAD_SQL: Final = f"""
SELECT id::INTEGER AS id, ts, coalesce(dur, 0) AS dur, name_id AS name, coalesce(parent, -1)::INTEGER AS parent,
    coalesce(depth, 0)::SMALLINT AS depth, {code("category", CATEGORIES)} AS kind
FROM spans WHERE track = ?
"""
_QUEUE_SQL: Final = f"""
SELECT id::INTEGER AS id, ts, coalesce(dur, 0) AS dur, name_id AS name, {code("category", CATEGORIES)} AS kind
FROM spans WHERE track = ? AND (category IN {MARKS}) = ?
"""
_WORK_SQL: Final = f"""
SELECT event::INTEGER AS id, ts, dur, name_id AS name, kind = 'compute' AS computes,
    {code("op_class", OP_CLASSES)} AS op_class,
    {code("CASE kind WHEN 'comm' THEN 'collective' WHEN 'compute' THEN 'kernel' ELSE kind END", CATEGORIES)} AS kind
FROM activities WHERE {{where}}
"""
_CLASSES_SQL: Final = f"""
SELECT event::INTEGER AS id, {code("op_class", OP_CLASSES)} AS op_class FROM activities
WHERE track = ? AND kind = 'compute' ORDER BY id
"""
_STEPS_SQL: Final = """
SELECT step::INTEGER AS id, "begin" AS ts, greatest("end" - "begin", 0) AS dur, row_number() OVER () - 1 AS name
FROM steps WHERE source <> 'whole'
"""

Columns = dict[str, NDArray[Any]]


def events_of(trace: Trace, track: TimelineTrack) -> TrackEvents:
    """The events of a track that is drawn as events; times since the rank's origin."""
    if track.source == "thread":
        return layers_of(trace, track.track)[track.part]
    if track.source == "steps":
        rows = trace.columns(_STEPS_SQL)
        rows["kind"] = np.full(rows["id"].size, KINDS.index("step"))
    elif track.source in ("queue", "marks"):
        rows = trace.columns(_QUEUE_SQL, [track.track, track.source == "marks"])
        _classed(rows, trace.columns(_CLASSES_SQL, [track.track]))
    else:
        where, values = _chosen(track)
        rows = trace.columns(_WORK_SQL.format(where=where), values)
        classes = len(CATEGORIES) + rows.pop("op_class").astype(np.int64)
        rows["kind"] = np.where(rows.pop("computes"), classes, rows["kind"])
    return TrackEvents.of(lane=fitted_lanes(rows["ts"], rows["dur"]), **rows)


def layers_of(trace: Trace, thread: int) -> dict[str, TrackEvents]:
    """The events of a thread by layer, from one reading of it."""
    rows = trace.columns(_THREAD_SQL, [thread])
    parent, depth = _positions(rows["id"], rows.pop("parent")), rows.pop("depth")
    found = {}
    for layer, categories in LAYERS.items():
        member = np.isin(rows["kind"], [CATEGORIES.index(category) for category in categories])
        if member.any():
            lane = nested_lanes(parent, depth, member)[member]
            found[layer] = TrackEvents.of(lane=lane, **{name: column[member] for name, column in rows.items()})
    return found


def _positions(ids: NDArray[np.int32], wanted: NDArray[np.int32]) -> NDArray[np.int32]:
    """Position of each wanted id among ids, int32[n]; -1 for -1, and for ids that are not there."""
    row_of = np.full(int(max(ids.max(initial=-1), wanted.max(initial=-1))) + 2, -1, np.int32)
    row_of[ids] = np.arange(ids.size, dtype=np.int32)
    found: NDArray[np.int32] = row_of[wanted]  # the last place stands for -1
    return found


def _classed(rows: Columns, work: Columns) -> None:
    """Give compute kernels the kind of their class."""
    if not work["id"].size:
        return
    at = np.minimum(np.searchsorted(work["id"], rows["id"]), work["id"].size - 1)
    mine = work["id"][at] == rows["id"]
    rows["kind"] = np.where(mine, len(CATEGORIES) + work["op_class"][at].astype(np.int64), rows["kind"])


def _chosen(track: TimelineTrack) -> tuple[str, list[Any]]:
    """The condition on device work, and its values."""
    if track.source == "copies":
        return "kind IN ('copy', 'set') AND device IS NOT DISTINCT FROM ?", [track.device]
    grouped = 'event IN (SELECT event FROM collectives WHERE "group" = ?) AND device IS NOT DISTINCT FROM ?'
    return grouped, [track.part, track.device]
