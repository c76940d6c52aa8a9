"""Stage memory timelines written as JSON by torch.profiler's `export_memory_timeline`: raw, or aggregated."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.readers.memsnapshot.values import LARGEST, LIMIT, natural
from stepscope.store.staging import Staging

#: Upper limit of valid times, the year 2112.
_LATEST_US: Final = 1 << 52

#: Categories by number (torch/profiler/_memory_profiler.py: _CATEGORY_TO_INDEX).
CATEGORIES: Final = (
    "parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "autograd_detail", "unknown",
)  # fmt: skip
#: Actions by number (_ACTION_TO_INDEX); 3 occurs in pairs that move bytes from one category to another.
_PREEXISTING, _CREATE, _MOVE, _DESTROY = 1, 2, 3, 4
_ACTIONS: Final = {_PREEXISTING: "preexisting", _CREATE: "create", _MOVE: "increment_version", _DESTROY: "destroy"}


def stage_timeline(staging: Staging, top: list[Any], label: str) -> None:
    """Fill `raw_memory`, `counters` (bytes by category), `allocator_events` and an event that spans it all.

    Raises:
        UnusableInputError: It is no timeline.
    """
    if len(top) == 2 and all(isinstance(part, list) for part in top) and _is_summed(top[0], top[1]):
        _stage_summed(staging, top[0], top[1])
        return
    rows = [row for row in top if isinstance(row, list) and len(row) == 4 and all(_fits(v) for v in row)]
    rows = [row for row in rows if row[1] in _ACTIONS]
    if not rows:
        raise UnusableInputError(
            said("{label} is neither a memory snapshot nor a memory timeline", label=label),
            hint="give a file of torch.cuda.memory._dump_snapshot or export_memory_timeline",
        )
    staging.observe("rows-skipped", "warning", len(top) - len(rows), "rows of the memory timeline could not be read",
                    "they are missing from every number")  # fmt: skip
    _stage_raw(staging, np.array(rows, np.int64))


def _fits(value: Any) -> bool:
    return type(value) is int and -LIMIT < value < LIMIT


def _is_summed(times: list[Any], sizes: list[Any]) -> bool:
    return len(times) == len(sizes) > 0 and all(isinstance(row, list) for row in sizes)


def _stage_raw(staging: Staging, rows: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """Stage rows of (time in ns, or -1 for memory that existed before; action; signed bytes; category)."""
    timed = rows[rows[:, 0] >= 0, 0]
    first = int(timed.min()) if timed.size else 0
    ts = np.maximum.accumulate(np.maximum(rows[:, 0], first))
    category = np.clip(rows[:, 3], 0, len(CATEGORIES) - 1)
    total = np.cumsum(rows[:, 2])
    moves = rows[:, 1] == _MOVE
    memory = {"ts": ts[~moves], "bytes": rows[~moves, 2], "allocated": total[~moves]}
    staging.insert("raw_memory", pa.table(memory))
    names = [CATEGORIES[number] for number in category.tolist()]
    entries = {
        "seq": np.arange(ts.size),
        "ts": ts - first,
        "action": pa.array([_ACTIONS[number] for number in rows[:, 1].tolist()]),
        "bytes": np.abs(rows[:, 2]),
        "category": pa.array(names),
    }
    staging.insert("allocator_events", pa.table(entries))
    held = np.stack([np.cumsum(np.where(category == number, rows[:, 2], 0)) for number in range(len(CATEGORIES))])
    _stage_counters(staging, ts, held[category, np.arange(ts.size)], names)
    _stage_span(staging, first, int(ts[-1]))


def _stage_summed(staging: Staging, times: list[Any], sizes: list[list[Any]]) -> None:
    """Stage times in microseconds with, for each, a constant 0 and the bytes of every category."""
    width = len(CATEGORIES)
    kept = [
        (time, [natural(value, LARGEST) or 0 for value in row[1 : width + 1]])
        for time, row in zip(times, sizes, strict=True)
        if isinstance(time, (int, float)) and -_LATEST_US < time < _LATEST_US and len(row) >= width + 1
    ]
    staging.observe("rows-skipped", "warning", len(times) - len(kept), "rows of the memory timeline could not be read",
                    "they are missing from every number")  # fmt: skip
    if not kept:
        raise UnusableInputError("the memory timeline has no row that can be read", hint="export it again")
    ts = np.maximum.accumulate(np.array([round(time * 1000) for time, _ in kept], np.int64))
    held = np.array([row for _, row in kept], np.int64)
    staging.insert("raw_memory", pa.table({"ts": ts, "allocated": held.sum(axis=1)}))
    for number, name in enumerate(CATEGORIES):
        if held[:, number].any():
            _stage_counters(staging, ts, held[:, number], [name] * ts.size)
    _stage_span(staging, int(ts[0]), int(ts[-1]))


def _stage_counters(staging: Staging, ts: Any, values: Any, names: list[str]) -> None:
    track = staging.track("counter", thread="memory by category")
    columns = {
        "ts": pa.array(ts),
        "track": pa.array([track] * len(names), pa.int32()),
        "name": pa.array(names),
        "value": pa.array(values.astype(np.float64)),
    }
    staging.insert("counters", pa.table(columns))


def _stage_span(staging: Staging, first: int, last: int) -> None:
    track = staging.track("host", process="memory", thread="timeline")
    stated = pa.table({"name": ["memory timeline"]})
    staging.connection.register("stated", stated)
    staging.intern_names("stated")
    staging.connection.unregister("stated")
    staging.connection.execute(
        "INSERT INTO raw_events BY NAME SELECT 0 AS id, ? AS ts, ? AS dur, ? AS track, name_id, 'other' AS category "
        "FROM names WHERE name = 'memory timeline'",
        [first, last - first, track],
    )
