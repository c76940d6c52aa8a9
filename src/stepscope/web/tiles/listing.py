"""The tracks of one rank, in the order of the page: from the program down to the hardware."""

from __future__ import annotations

import json
import re
from dataclasses import astuple
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.recorded_events import RecordedEvents, names_of, recorded_events
from stepscope.language import said
from stepscope.model.categories import CATEGORIES
from stepscope.model.trace import Trace
from stepscope.reports.text import visible
from stepscope.web.tiles.track import LAYERS, MARKS, TimelineTrack

#: Whose calls they are, by how most of their names begin.
_CALLS: Final = (
    ("CUDA API", re.compile(r"cu(da)?[A-Z]|cudnn|cublas|nccl")),
    ("HIP API", re.compile(r"hip|hsa_|roc")),
    ("CANN API", re.compile(r"acl|AscendCL|Node@|Hccl|hcom|Enqueue|Dequeue", re.IGNORECASE)),
)
_TITLES: Final = {"python": "Python", "framework": "Framework", "other": "System"}
_GROUPS_SQL: Final = """
SELECT c."group" AS part, k.device, count(*) AS events, any_value(world_size) AS size, count(DISTINCT k.track) AS queues
FROM collectives c JOIN kernels k USING (event) GROUP BY ALL ORDER BY ALL
"""
_COPIES_SQL: Final = """
SELECT device, count(*) AS events FROM kernels WHERE kind IN ('copy', 'set') GROUP BY device ORDER BY device
"""
_COUNTERS_SQL: Final = """
SELECT c.track, c.name, count(*) AS events, any_value(t.process) AS process, any_value(t.device) AS device
FROM counters c LEFT JOIN tracks t USING (track) GROUP BY c.track, c.name ORDER BY process, c.track, c.name
"""
_MEMORY_SQL: Final = """
SELECT device, count(allocated) AS allocated, count(reserved) AS reserved FROM memory GROUP BY device ORDER BY device
"""


def tracks_of(trace: Trace) -> list[TimelineTrack]:
    """The tracks of a trace of one rank."""
    [rank] = trace.ranks
    known = {row["track"]: row for row in trace.rows("SELECT * FROM tracks ORDER BY track")}
    kinds = trace.once(recorded_events)
    return [
        *_of_steps(trace, rank),
        *_of_threads(trace, rank, known, kinds),
        *_of_queues(rank, known, kinds),
        *([] if _by_group(known) else _of_groups(trace, rank)),
        *_of_copies(trace, rank),
        *_of_counters(trace, rank),
    ]


def to_arrays(tracks: list[TimelineTrack], extent: tuple[int, int]) -> dict[str, NDArray[Any]]:
    """Tracks and extent of a rank as arrays, to be saved."""
    text = json.dumps([astuple(track)[1:] for track in tracks])
    return {"tracks": np.frombuffer(text.encode("ascii"), np.uint8), "extent": np.array(extent, np.int64)}


def from_arrays(
    rank: int, arrays: dict[str, NDArray[Any]] | None
) -> tuple[list[TimelineTrack], tuple[int, int]] | None:
    """The inverse of `to_arrays`; None for None."""
    if arrays is None:
        return None
    first, last = arrays["extent"].tolist()
    return [TimelineTrack(rank, *one) for one in json.loads(arrays["tracks"].tobytes())], (first, last)


def _of_steps(trace: Trace, rank: int) -> list[TimelineTrack]:
    steps = trace.scalar("SELECT count(*) FROM steps WHERE source <> 'whole'")
    found = [TimelineTrack(rank, "Steps", "steps", "events", "steps", events=steps)] if steps else []
    devices = trace.rows("SELECT DISTINCT device FROM kernels WHERE kind <> 'sync' ORDER BY device")
    for row in devices:
        found.append(TimelineTrack(rank, "Steps", f"time of {_device(row)}", "shares", "time", device=row["device"]))
    return found


def _of_threads(trace: Trace, rank: int, known: dict[int, Any], kinds: RecordedEvents) -> list[TimelineTrack]:
    """Threads by layer; the one with the most launches first, then those with the most events."""
    counts = _counts(kinds, [track for track, row in known.items() if row["kind"] == "host"])
    launches = {track: by.get("launch", 0) for track, by in counts.items()}
    threads = sorted(counts, key=lambda track: (-launches[track], -sum(counts[track].values()), track))
    found = []
    for layer, categories in LAYERS.items():
        section = _calls(trace) if layer == "api" else _TITLES[layer]
        for track in threads:
            if events := sum(counts[track].get(category, 0) for category in categories):
                label, process = visible(known[track]["label"]).strip(), visible(known[track]["process"] or "")
                label = said("unnamed thread") if label in ("", "thread") else label
                one = TimelineTrack(rank, section, label, "events", "thread", track, None, layer, events, process)
                found.append(one)
    return found


def _of_queues(rank: int, known: dict[int, Any], kinds: RecordedEvents) -> list[TimelineTrack]:
    """Device queues by device; those with collectives and their parts only come last, under their own name."""
    counts = _counts(kinds, [track for track, row in known.items() if row["kind"] == "device"])
    queues: list[TimelineTrack] = []
    planes: list[TimelineTrack] = []
    for track in sorted(counts, key=lambda track: (known[track]["device"] or 0, track)):
        row, by = known[track], counts[track]
        grouped = _is_group(row)
        section = "Collectives" if grouped else _device(row).capitalize()
        marks = sum(by.get(category, 0) for category in MARKS)
        for source, events, ending in (("marks", marks, ", ranges"), ("queue", sum(by.values()) - marks, "")):
            if events:
                label = visible(row["stream"] if grouped else f"stream {row['stream']}") + ending
                one = TimelineTrack(
                    rank,
                    section,
                    label,
                    "events",
                    "marks" if source == "marks" else "queue",
                    track,
                    row["device"],
                    events=events,
                )
                (planes if grouped else queues).append(one)
    return [*queues, *planes]


def _is_group(track: dict[str, Any]) -> bool:
    """Whether a device queue is a group of collectives, or a plane of one."""
    return track["kind"] == "device" and str(track["stream"]).startswith("group ")


def _by_group(known: dict[int, Any]) -> bool:
    return any(_is_group(track) for track in known.values())


def _of_groups(trace: Trace, rank: int) -> list[TimelineTrack]:
    """Collectives by group, where queues do not show them by group already."""
    found = []
    for row in trace.rows(_GROUPS_SQL):
        size = f", {row['size']} ranks" if row["size"] else ""
        label = f"group {visible(row['part'])}{size}"
        found.append(
            TimelineTrack(
                rank,
                "Collectives",
                label,
                "events",
                "group",
                device=row["device"],
                part=row["part"],
                events=row["events"],
            )
        )
    return found


def _of_copies(trace: Trace, rank: int) -> list[TimelineTrack]:
    rows = trace.rows(_COPIES_SQL)
    return [
        TimelineTrack(rank, "Copies", _device(row), "events", "copies", device=row["device"], events=row["events"])
        for row in rows
    ]


def _of_counters(trace: Trace, rank: int) -> list[TimelineTrack]:
    found = []
    for row in trace.rows(_MEMORY_SQL):
        for column in ("allocated", "reserved"):
            if row[column]:
                where = "host" if row["device"] is None else _device(row)
                label, events = f"memory {column}, {where}", row[column]
                one = TimelineTrack(rank, "Counters", label, "line", "memory", -1, row["device"], column, events)
                found.append(one)
    for row in trace.rows(_COUNTERS_SQL):
        label, process = visible(row["name"]), visible(row["process"] or "")
        source = (row["track"], row["device"], row["name"], row["events"], process)
        found.append(TimelineTrack(rank, "Counters", label, "line", "counter", *source))
    return found


def _counts(kinds: RecordedEvents, tracks: list[int]) -> dict[int, dict[str, int]]:
    """Events by track and category."""
    found: dict[int, dict[str, int]] = {}
    wanted = set(tracks)
    for track, category, number in zip(
        kinds.track.tolist(), kinds.category.tolist(), kinds.number.tolist(), strict=True
    ):
        if track in wanted:
            by = found.setdefault(track, {})
            name = CATEGORIES[category]
            by[name] = by.get(name, 0) + number
    return found


def _calls(trace: Trace) -> str:
    names = [name for _, name in names_of(trace, LAYERS["api"])]
    matching = [sum(bool(pattern.match(name)) for name in names) for _, pattern in _CALLS]
    return _CALLS[matching.index(max(matching))][0] if any(matching) else "Runtime API"


def _device(row: dict[str, Any]) -> str:
    return "device" if row["device"] is None else f"device {row['device']}"
