"""Tiles as bytes.

A tile is a block, and a reply holds one block after the other:

    uint32  0x31545353, the letters SST1
    uint32  length of the header
    header  JSON in ASCII, with spaces up to a multiple of 8
    columns, each from a multiple of 8 on

All numbers are little-endian. The header has the track's index, its form, level and tile, the start `lo` in ns as text,
and `columns`: name, type and length of each column in order. Columns of the forms:

    events  start, span, busy (float64, ns; start since `lo`), event, lane, kind (int32, position in `KINDS`), name
            (int32, position in the header's `names`), count (int32)
    shares  one column per label, float64, ns of each bucket; names are positions in `SHARES`
    line    start, least, most, last (float64), count (int32); the header has `before`
"""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.web.tiles.entries import TrackEntries, TrackEvents
from stepscope.web.tiles.lines import SampledRange
from stepscope.web.tiles.names import ShortNames

MAGIC: Final = 0x31545353

Header = dict[str, Any]


def of_events(
    header: Header, lo: int, entries: TrackEntries, events: TrackEvents, names: ShortNames | list[str]
) -> bytes:
    """A tile of events and runs; `names` is of the rank, or a list that names are positions in."""
    at = entries.longest
    pairs, index = np.unique(events.name[at].astype(np.int64) << 8 | events.kind[at], return_inverse=True)
    if isinstance(names, list):
        listed = [names[pair >> 8] for pair in pairs.tolist()]
    else:
        listed = names.of((pair >> 8, pair & 255) for pair in pairs.tolist())
    columns = {
        "start": (entries.start - lo).astype(np.float64),
        "span": (entries.end - entries.start).astype(np.float64),
        "busy": entries.busy.astype(np.float64),
        "event": events.id[at],
        "lane": entries.lane.astype(np.int32),
        "kind": events.kind[at].astype(np.int32),
        "name": index.reshape(-1).astype(np.int32),
        "count": entries.count,
    }
    return block({**header, "form": "events", "lo": str(lo), "lanes": events.lanes, "names": listed}, columns)


def of_shares(header: Header, lo: int, shares: dict[int, NDArray[np.int64]]) -> bytes:
    """A tile of shares."""
    columns = {str(label): ns.astype(np.float64) for label, ns in shares.items()}
    return block({**header, "form": "shares", "lo": str(lo)}, columns)


def of_line(header: Header, lo: int, sampled: SampledRange) -> bytes:
    """A tile of samples."""
    columns: dict[str, NDArray[Any]] = {
        "start": (sampled.start - lo).astype(np.float64),
        "least": sampled.least,
        "most": sampled.most,
        "last": sampled.last,
        "count": sampled.count.astype(np.int32),
    }
    before = None if sampled.before is None or not np.isfinite(sampled.before) else sampled.before
    return block({**header, "form": "line", "lo": str(lo), "before": before}, columns)


def block(header: Header, columns: dict[str, NDArray[Any]]) -> bytes:
    """One block."""
    described = [[name, column.dtype.name, int(column.size)] for name, column in columns.items()]
    text = json.dumps({**header, "columns": described}, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    parts = [np.array([MAGIC, len(text)], "<u4").tobytes(), text]
    for column in columns.values():
        raw = column.astype(column.dtype.newbyteorder("<"), copy=False).tobytes()
        parts += [raw, bytes(-len(raw) % 8)]
    return b"".join(parts)


def blocks(reply: bytes) -> list[tuple[Header, dict[str, NDArray[Any]]]]:
    """The headers and columns of a reply; for tests and scripts.

    Raises:
        ValueError: These are no blocks.
    """
    found, at = [], 0
    while at < len(reply):
        magic, length = np.frombuffer(reply, "<u4", 2, at).tolist()
        if magic != MAGIC:
            raise ValueError(f"no block begins at byte {at}")
        header = json.loads(reply[at + 8 : at + 8 + length])
        at += 8 + length
        columns = {}
        for name, kind, size in header["columns"]:
            columns[name] = np.frombuffer(reply, np.dtype(kind).newbyteorder("<"), size, at)
            at += -(-columns[name].nbytes // 8) * 8
        found.append((header, columns))
    return found
