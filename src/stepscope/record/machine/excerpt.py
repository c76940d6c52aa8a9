"""Parts of a file of samples that are files of samples themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def keep_latest(path: Path, most: int) -> int:
    """Leave the head and the latest samples of a file.

    Args:
        path: The file.
        most: Bytes of samples to leave.

    Returns:
        The bytes that it has now.
    """
    left = most

    def latest(line: bytes) -> bool:
        nonlocal left
        left -= len(line)
        return left >= 0

    text = _part(path, latest)
    _put(path, text)
    return len(text)


def excerpt(path: Path, since_unix_ns: int, into: Path) -> None:
    """Write the head and the samples from some moment on to another file.

    Raises:
        OSError: One can't be read, or the other not be written.
    """
    text = _part(path, lambda line: _values(line).get("unix_ns", 0) >= since_unix_ns)
    if text:
        _put(into, text)


def _part(path: Path, wanted: Callable[[bytes], bool]) -> bytes:
    """The head and the last lines up to one that is not wanted; the first of them names the storage named before."""
    head, *lines = path.read_bytes().splitlines(keepends=True) or [b""]
    kept: list[bytes] = []
    while lines and wanted(lines[-1]):
        kept.append(lines.pop())
    kept.reverse()
    storage = [one for line in lines if b'"storage"' in line for one in _values(line).get("storage", [])]
    if storage and kept:
        first = _values(kept[0])
        first["storage"] = [*storage, *first.get("storage", [])]
        kept[0] = json.dumps(first, separators=(",", ":")).encode() + b"\n"
    return head + b"".join(kept) if kept else b""


def _values(line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _put(path: Path, text: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_bytes(text)
    unfinished.replace(path)
