"""Load snapshots from pickles and JSON, staging their histories on the way."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from stepscope.model.errors import UnusableInputError
from stepscope.readers.memsnapshot.guard import MemoryGuard, resident_bytes
from stepscope.readers.memsnapshot.history import TAKEN, History
from stepscope.readers.memsnapshot.validated_pickle import ValidatedPickle
from stepscope.readers.memsnapshot.values import rows_of, size

#: JSON is loaded whole: memory for its text twice, then at most this many bytes per value, list and dictionary.
_PER_VALUE: Final = 32
_PER_CONTAINER: Final = 64
_ALLOWANCE: Final = 1 << 30
#: Of that, what the process has before, and what it needs afterwards.
_BESIDE: Final = 256 << 20
#: So many dictionaries may be loaded between two looks at the memory that they really take.
_LOOK_OBJECTS: Final = 1 << 14


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


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler of plain values only: no class, function or object by name or id.

    A second line of defence: `ValidatedPickle` already refuses every operation that would ask for one.
    """

    def __init__(self, stream: ValidatedPickle, batch: Callable[[Any], None]) -> None:
        super().__init__(stream)
        self._batch = batch

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not admitted")

    def persistent_load(self, pid: Any) -> Any:
        """Called by `ValidatedPickle` when a list got a batch of dictionaries; returns the list."""
        self._batch(pid)
        return pid


def load_pickle(blocks: Iterator[bytes], history: History, label: str, *, each: bool = False) -> Loaded:
    """Load a pickled snapshot, as far as possible if it is truncated.

    Args:
        blocks: The pickle.
        history: Receives its entries.
        label: The file's name in errors.
        each: Keep every complete segment of a truncated list, which picklers write 1000 at a time: takes longer.

    Raises:
        UnusableInputError: It is no snapshot, or holds nothing usable.
    """
    guard = MemoryGuard(label)
    unpickler = _PlainUnpickler(ValidatedPickle(blocks, guard, label, each=each), history.batch)
    try:
        top = unpickler.load()
    except EOFError:
        return _salvaged(history, "the file ends in the middle or is damaged")
    except pickle.UnpicklingError as error:
        if "truncated" in str(error):
            return _salvaged(history, "the file ends in the middle or is damaged")
        return _salvaged(history, f"the pickle is damaged ({error})")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        return _salvaged(history, f"the pickle is damaged ({type(error).__name__}: {error})")
    return _from_top(top, history)


def load_json(blocks: Iterator[bytes], history: History, label: str) -> Loaded:
    """Load a snapshot or memory timeline from JSON.

    Raises:
        UnusableInputError: It is no JSON, or takes more memory than promised.
    """
    start = resident_bytes()
    text = _text(blocks, label)
    frames: dict[tuple[object, object, object], dict[str, Any]] = {}
    number = count()
    most = start + _ALLOWANCE - _BESIDE + len(text) // 10

    def compact(value: dict[str, Any]) -> Any:
        """Move entries and blocks out as soon as they are read, and share the dictionaries of equal frames."""
        if next(number) % _LOOK_OBJECTS == 0 and resident_bytes() > most:
            raise _too_large(label)
        if "action" in value and "stage" not in value:
            return history.stream(value)
        if "state" in value and "size" in value:
            return history.block(value)
        if "filename" in value and "name" in value and "line" in value:
            key = (str(value["filename"]), str(value["line"]), str(value["name"]))
            return frames.setdefault(key, value)
        return value

    try:
        top = json.loads(text, object_hook=compact)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it is nested too deeply")
        raise UnusableInputError(
            f"{label} is damaged: its JSON can't be read ({reason})", hint="write the snapshot again, as a pickle"
        ) from error
    return _from_top(top, history)


def _text(blocks: Iterator[bytes], label: str) -> str:
    """The whole text; raises if what it loads to would exceed the memory limit."""
    data = bytearray()
    commas = containers = 0
    for block in blocks:
        data += block
        commas += block.count(b",")
        containers += block.count(b"[") + block.count(b"{")
        needed = 2 * len(data) + _PER_VALUE * commas + _PER_CONTAINER * containers
        if needed > _ALLOWANCE + len(data) // 10:
            raise _too_large(label)
    return data.decode("utf-8", errors="replace").lstrip("\ufeff")


def _too_large(label: str) -> UnusableInputError:
    return UnusableInputError(
        f"{label} would take more memory as JSON than the limit of 1 GiB and a tenth of its size",
        hint="write the snapshot as a pickle, as torch.cuda.memory._dump_snapshot does",
    )


def _from_top(top: Any, history: History) -> Loaded:
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


def _salvaged(history: History, cut: str) -> Loaded:
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
