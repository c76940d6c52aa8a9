"""Activity inside waits for batches: the main process reads or prepares the batch, or receives it from a worker."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_waits import loader_waits
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.trace import Trace
from stepscope.signals.data.data import in_process, waits
from stepscope.signals.shared.ranges import apart
from stepscope.signals.signal import Signals, signal

#: Calls of the operating system that wait for data of files.
_READS: Final = ("read", "pread", "pread64", "readv", "preadv", "fread", "open", "open64", "openat", "fopen", "fopen64")
#: Functions that take over what a worker has put into shared memory: they open, map and unpickle it (torch/
#: multiprocessing/reductions.py, multiprocessing/reduction.py and resource_sharer.py).
_RECEIVES: Final = re.compile(
    r"rebuild_(storage|tensor|typed|event|nested|meta)|multiprocessing/(reductions?|resource_sharer)\.py|"
    r"storage\.py\(\d+\): _new_shared|recv_?handle|: _?recv_bytes|Unpickl|_ForkingPickler|<built-in .*loads"
)

_INSIDE_SQL: Final = """
WITH waits AS (
    SELECT id, track, ts, ts + dur AS stop FROM spans WHERE id IN (SELECT unnest($waits)) AND dur > 0
)
SELECT s.id, s.ts, s.ts + s.dur AS stop, s.category, n.name, coalesce(s.depth, 0) AS depth
FROM (SELECT id, track, ts, coalesce(dur, 0) AS dur, category, name_id, depth FROM spans
    WHERE category IN ('op', 'python', 'other') AND track IN (SELECT track FROM waits)) s
ASOF JOIN waits w ON s.track = w.track AND s.ts >= w.ts JOIN names n USING (name_id)
WHERE s.ts + s.dur <= w.stop AND (s.category <> 'other' OR n.name IN (SELECT unnest($reads)))
ORDER BY s.ts, s.ts + s.dur DESC
"""


@dataclass(frozen=True, slots=True)
class Inside:
    """Events of one kind inside the waits for batches.

    Attributes:
        events: int64[n], outermost operators, functions, or calls that read.
        ns: Sum of their durations.
        names: What took longest among them, and the innermost Python function around most of it.
    """

    events: NDArray[np.int64]
    ns: int
    names: tuple[str, ...]


@signal()
def preparing(s: Signals) -> Inside:
    """Operators that run inside the loader: decoding, transforms, collation."""
    return _part(s, "op")


@signal()
def reading(s: Signals) -> Inside:
    """Calls of the operating system inside the loader that read files."""
    return _part(s, "other")


@signal("share")
def preparing_share(s: Signals) -> float:
    """Operators inside the loader as a share of the waits for it."""
    return s(preparing).ns / max(int(s(waits).dur.sum()), 1)


@signal("share")
def reading_share(s: Signals) -> float:
    """Calls that read files as a share of the waits for the loader."""
    return s(reading).ns / max(int(s(waits).dur.sum()), 1)


@signal()
def receiving(s: Signals) -> Inside:
    """Functions inside the waits that take over a batch from a worker: mapping and unpacking its memory."""
    rows = s.trace.once(_rows)
    python = rows["category"] == "python"
    if s(in_process) is not False or not python.any():
        raise MissingInputError(
            "the recording does not show how batches come from the workers of the loader",
            hint="record with with_stack=True",
        )
    ids, which = np.unique(rows["name"][python].astype(str), return_inverse=True)
    mine = np.flatnonzero(python)[np.array([bool(_RECEIVES.search(name)) for name in ids.tolist()], np.bool_)[which]]
    return _outermost(rows, mine)


@signal("share")
def receiving_share(s: Signals) -> float:
    """Functions that take over a batch from a worker as a share of the waits for the loader."""
    return s(receiving).ns / max(int(s(waits).dur.sum()), 1)


def _rows(trace: Trace) -> dict[str, NDArray[Any]]:
    """Operators, Python functions and reads inside the waits, outer ones first."""
    waits = Spans(trace).id[loader_waits(trace)]
    return trace.columns(_INSIDE_SQL, {"reads": list(_READS), "waits": waits.tolist()})


def _part(s: Signals, category: str) -> Inside:
    if not s(in_process):
        raise MissingInputError(
            "the recording does not show what the workers of the loader do",
            hint="record some steps with num_workers=0 to see where loading takes its time",
        )
    rows = s.trace.once(_rows)
    found = _outermost(rows, np.flatnonzero(rows["category"] == category))
    return Inside(found.events, found.ns, (*_function(s, rows), *found.names))


def _outermost(rows: dict[str, NDArray[Any]], mine: NDArray[np.int64]) -> Inside:
    """Those of these rows that lie in no other one, and the two names with most time."""
    outer = mine[apart(rows["ts"][mine], rows["stop"][mine])]
    took = rows["stop"][outer] - rows["ts"][outer]
    names, index = np.unique(rows["name"][outer].astype(str), return_inverse=True)
    by_name = np.bincount(index, took, names.size) if names.size else np.zeros(0)
    first = tuple(str(name) for name in names[np.argsort(-by_name, kind="stable")][:2])
    return Inside(rows["id"][outer], int(took.sum()), first)


def _function(s: Signals, rows: dict[str, NDArray[Any]]) -> list[str]:
    """The innermost Python function outside the loader that covers half of the waits."""
    half = int(s(waits).dur.sum()) // 2
    mine = np.flatnonzero(rows["category"] == "python")
    names, index = np.unique(rows["name"][mine].astype(str), return_inverse=True)
    if not names.size:
        return []
    took = np.bincount(index, (rows["stop"] - rows["ts"])[mine], names.size)
    depth = np.zeros(names.size, np.int64)
    np.maximum.at(depth, index, rows["depth"][mine])
    own = np.array([not name.startswith("<") and "torch/utils/data" not in name for name in names.tolist()])
    chosen = np.flatnonzero(own & (took >= half))
    return [str(names[chosen[np.argmax(depth[chosen])]])] if chosen.size else []
