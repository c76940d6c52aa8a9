"""Interpret what a snapshot's file holds: segments, devices of its histories, settings, annotations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stepscope.readers.memsnapshot.history import TAKEN, History
from stepscope.readers.memsnapshot.values import size
from stepscope.readers.untrusted import rows_of


@dataclass(slots=True)
class Loaded:
    """Contents of a snapshot's file, without the entries of its histories.

    Attributes:
        segments: Segments as recorded, their blocks as rows.
        devices: Device of each part of the history.
        settings: The allocator's settings as recorded.
        annotations: Start and end entries of annotated ranges, as recorded.
        cut: Why the end is missing; empty if it is not.
        timeline: A bare list, which may be a memory timeline.
        foreign: Number of segments, blocks, and lists of these and of entries that have a wrong type.
        unsized: Number of segments without a valid size.
    """

    segments: list[dict[str, Any]] = field(default_factory=list)
    devices: dict[int, int] = field(default_factory=dict)
    settings: dict[Any, Any] = field(default_factory=dict)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    cut: str = ""
    timeline: list[Any] | None = None
    foreign: int = 0
    unsized: int = 0


def contents_of(top: Any, history: History) -> Loaded:
    """Interpret the loaded value: a snapshot, a list of segments, or something else."""
    loaded = Loaded()
    if isinstance(top, list) and rows_of(top):
        loaded.segments = _segments(top, history, loaded)
    elif isinstance(top, list):
        loaded.timeline = top
    elif isinstance(top, dict):
        loaded.segments = _segments(top.get("segments"), history, loaded)
        loaded.annotations = rows_of(top.get("external_annotations"))
        settings = top.get("allocator_settings")
        loaded.settings = settings if isinstance(settings, dict) else {}
        traces = top.get("device_traces")
        loaded.foreign += int(not isinstance(traces, (list, type(None))))
        for device, items in enumerate(traces if isinstance(traces, list) else []):
            if not isinstance(items, list):
                loaded.foreign += 1
                continue
            if any(item is TAKEN for item in items):
                part: int | None = history.adopt(items)
            else:
                part = history.take(items) if items else history.part_of(items)
            if part is not None:
                loaded.devices.setdefault(part, device)
    history.flush()
    return loaded


def salvaged(history: History, cut: str) -> Loaded:
    """The contents loaded when a truncated file ended.

    The histories' lists are known but not their devices: the segments' device if there is only one, else numbered in
    order.
    """
    loaded = Loaded(cut=cut)
    for items in history.segment_lists or [history.loose_segments]:
        loaded.segments += _segments(items, history, loaded)
    known = sorted({device for row in loaded.segments if isinstance(device := row.get("device"), int)})
    loaded.devices = {part: known[part] if part < len(known) else part for part in range(len(history.counts))}
    history.flush()
    return loaded


def _segments(items: Any, history: History, loaded: Loaded) -> list[dict[str, Any]]:
    """The distinct segments in a list, with their blocks as rows; items of wrong types are counted."""
    seen: set[int] = set()
    segments = []
    listed = items if isinstance(items, list) else []
    loaded.foreign += len(listed) - len(rows_of(items)) + int(items is not None and listed is not items)
    for row in rows_of(items):
        blocks = row.get("blocks")
        if (
            id(row) in seen
            or (isinstance(blocks, list) and id(blocks) in seen)
            or not ("blocks" in row or "total_size" in row)
        ):
            continue
        seen |= {id(row), id(blocks)}
        known = [found for item in blocks if (found := history.block(item))] if isinstance(blocks, list) else []
        loaded.foreign += len(blocks) - len(known) if isinstance(blocks, list) else int(blocks is not None)
        row["blocks"] = known
        loaded.unsized += size(row.get("total_size")) is None
        segments.append(row)
    return segments
