"""The events of one track, read from the trace."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.categories import CATEGORIES
from stepscope.model.coding import code
from stepscope.model.events.nesting import is_outer_first
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.trace import Trace
from stepscope.native.layers import layers
from stepscope.web.tiles.entries import TrackEvents
from stepscope.web.tiles.lanes import fitted_lanes, nested_lanes
from stepscope.web.tiles.track import KINDS, LAYERS, MARKS, TimelineTrack

_THREAD_SQL: Final = f"""
SELECT id::INTEGER AS id, ts, coalesce(dur, 0) AS dur, name_id AS name, coalesce(parent, -1)::INTEGER AS parent,
    {code("category", CATEGORIES)} AS kind
FROM spans WHERE track = ?
"""
_DEPTH_SQL: Final = "SELECT coalesce(depth, 0)::SMALLINT AS depth FROM spans WHERE track = ?"
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

#: Which layer of a thread each category is in; the last for what is of no category.
_LAYER_OF: Final = np.array(
    [next((i for i, its in enumerate(LAYERS.values()) if category in its), -1) for category in CATEGORIES] + [-1],
    np.int8,
)

Columns = dict[str, NDArray[Any]]


def events_of(trace: Trace, track: TimelineTrack) -> TrackEvents:
    """The events of a track that is drawn as events; times since the rank's origin."""
    if track.source == "thread":
        return layers_of(trace, track.track)[track.part]
    if track.source == "steps":
        rows = trace.columns(_STEPS_SQL)
        rows["kind"] = np.full(rows["id"].size, KINDS.index("step"))
    elif track.source in ("queue", "marks"):
        rows = trace.columns(_QUEUE_SQL, [track.track, track.source == "marks"], many=True)
        _classed(rows, trace.columns(_CLASSES_SQL, [track.track], many=True))
    else:
        where, values = _chosen(track)
        rows = trace.columns(_WORK_SQL.format(where=where), values, many=True)
        classes = len(CATEGORIES) + rows.pop("op_class").astype(np.int64)
        rows["kind"] = np.where(rows.pop("computes"), classes, rows["kind"])
    return TrackEvents.of(lane=fitted_lanes(rows["ts"], rows["dur"]), **rows)


def layers_of(trace: Trace, thread: int) -> dict[str, TrackEvents]:
    """The events of a thread by layer, from one reading of it."""
    rows = trace.columns(_THREAD_SQL, [thread], many=True)
    parents = rows.pop("parent")
    layer = _LAYER_OF[rows["kind"]]  # -1 takes the last
    if is_outer_first(rows["ts"], rows["ts"] + rows["dur"]):
        found = layers(rows["id"], parents, layer)
        if found is not None:
            return _laid_out(rows, *found)
    parent = _positions(rows["id"], parents)
    depth = trace.columns(_DEPTH_SQL, [thread], many=True)["depth"]
    by_layer = {}
    for number, name in enumerate(LAYERS):
        member = layer == number
        if member.any():
            lane = nested_lanes(parent, depth, member)[member]
            by_layer[name] = TrackEvents.of(lane=lane, **{name: column[member] for name, column in rows.items()})
    return by_layer


def _laid_out(rows: Columns, order: NDArray[np.int32], numbers: NDArray[np.int32]) -> dict[str, TrackEvents]:
    """The events of each layer, given their positions by layer and lane, and how many each lane of each layer has."""
    by_layer, first = {}, 0
    for name, counts in zip(LAYERS, numbers, strict=True):
        last = first + int(counts.sum())
        if last > first:
            at = order[first:last].astype(np.intp)
            lane = np.repeat(np.arange(counts.size, dtype=np.uint16), counts)
            by_layer[name] = TrackEvents.ordered(lane=lane, **{name: column[at] for name, column in rows.items()})
        first = last
    return by_layer


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
