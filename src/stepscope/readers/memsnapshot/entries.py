"""Convert history entries to columns and blocks to rows, from dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from stepscope.readers.memsnapshot.stacks import StackNumbers
from stepscope.readers.memsnapshot.values import address, integer, natural, pool_name, size
from stepscope.readers.untrusted import rows_of, short_text

#: address or None, size, requested, state, stack
Block = tuple[int | None, int, int | None, str, int | None]

_STATES: Final = {
    "active_allocated": "active",
    "active_pending_free": "pending",
    "active_awaiting_free": "pending",
    "inactive": "inactive",
}


def stream(value: Any) -> str | None:
    """A stream as text: recorded as a number or as a name."""
    number = integer(value)
    return short_text(value) if number is None else str(number)


#: Column of `recorded_entries`, key in the file, Arrow type, and conversion from any value.
_FIELDS: Final[tuple[tuple[str, str, Any, Callable[[Any], Any]], ...]] = (
    ("action", "action", pa.string(), short_text),
    ("address", "addr", pa.int64(), address),
    ("bytes", "size", pa.int64(), size),
    ("stream", "stream", pa.int64(), stream),
    ("time_us", "time_us", pa.int64(), natural),
    ("device_free", "device_free", pa.int64(), size),
    ("category", "category", pa.string(), short_text),
    ("context", "compile_context", pa.string(), short_text),
    ("metadata", "user_metadata", pa.string(), short_text),
)
_POOL_KEYS: Final = ("pool_id", "segment_pool_id")


def entry_columns(entries: list[dict[str, Any]], stacks: StackNumbers) -> dict[str, Any]:
    """Entries as Arrow arrays by column; columns without any value are left out.

    Values are converted one by one only in columns with values of wrong types.
    """
    columns: dict[str, Any] = {}
    for name, key, kind, clean in _FIELDS:
        values = [entry.get(key) for entry in entries]
        if any(value is not None for value in values):
            columns[name] = _array(values, kind, clean)
    number = stacks.number
    columns["stack"] = pa.array([number(entry.get("frames", [])) for entry in entries], pa.int64())
    for key in _POOL_KEYS:
        values = [entry.get(key) for entry in entries]
        if any(value is not None for value in values):
            columns["pool"] = pa.array([pool_name(value) for value in values], pa.string())
    return columns


def _array(values: list[Any], kind: Any, clean: Callable[[Any], Any]) -> Any:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        cleaned = [clean(value) for value in values]
        return pa.array(cleaned, pa.string() if clean in (stream, short_text) else kind)


def block(recorded: dict[str, Any], stacks: StackNumbers) -> Block:
    """A block as a row: address, size, requested size, state and stack.

    PyTorch 2.0 keeps stacks in a history per block, newest first, which also has the requested size.
    """
    get = recorded.get
    width = size(get("size")) or 0
    state = _STATES.get(str(get("state")), "unknown")
    history = rows_of(get("history"))
    frames = get("frames", [])
    requested = size(get("requested_size"))
    if history:
        frames = frames or history[0].get("frames", [])
        requested = size(history[0].get("real_size")) if requested is None else requested
    return address(get("address")), width, requested, state, stacks.number(frames)
