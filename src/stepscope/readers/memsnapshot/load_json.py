"""Load snapshots and memory timelines from JSON, staging their histories on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.readers.memsnapshot.contents import Loaded, contents_of
from stepscope.readers.memsnapshot.guard import resident_bytes
from stepscope.readers.memsnapshot.history import History

#: JSON is loaded whole: memory for its text twice, then at most this many bytes per value, list and dictionary.
_PER_VALUE: Final = 32
_PER_CONTAINER: Final = 64
_ALLOWANCE: Final = 1 << 30
#: Of that, what the process has before, and what it needs afterwards.
_BESIDE: Final = 256 << 20
#: So many dictionaries may be loaded between two looks at the memory that they really take.
_LOOK_OBJECTS: Final = 1 << 14


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
            said("{label} is damaged: its JSON can't be read ({reason})", label=label, reason=reason),
            hint="write the snapshot again, as a pickle",
        ) from error
    return contents_of(top, history)


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
        said("{label} would take more memory as JSON than the limit of 1 GiB and a tenth of its size", label=label),
        hint="write the snapshot as a pickle, as torch.cuda.memory._dump_snapshot does",
    )
