"""Tracks that were computed once, kept beside the store of their recording and read from there without copying."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

#: Name of the folder within a store. To be raised whenever what is written changes its meaning.
FOLDER: Final = "timeline-1"
_MAGIC: Final = b"stepscope track\n"
_ALIGNED: Final = 64


class Saved:
    """Named arrays by key, in files of a folder; a folder that can't be written to keeps nothing.

    Args:
        store: Folder of the recording's store; None for nowhere.
        folder: Name of the folder within it.
    """

    def __init__(self, store: Path | None, folder: str = FOLDER) -> None:
        self._folder = None if store is None else store / folder

    def has(self, *key: object) -> bool:
        """Whether something is kept under a key; it may still be damaged."""
        return self._folder is not None and (self._folder / _name(key)).is_file()

    def load(self, *key: object) -> Arrays | None:
        """The arrays under a key, mapped into memory; None if there are none, or their file is damaged."""
        if self._folder is None:
            return None
        try:
            return _mapped(self._folder / _name(key))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, arrays: Mapping[str, NDArray[Any]], *key: object) -> None:
        """Keep arrays under a key; complete or not at all."""
        if self._folder is None:
            return
        temporary = self._folder / f"tmp-{secrets.token_hex(8)}"
        try:
            self._folder.mkdir(exist_ok=True)
            _write(temporary, arrays)
            temporary.replace(self._folder / _name(key))
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _name(key: tuple[object, ...]) -> str:
    return hashlib.blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    columns: list[tuple[str, str, int, int]] = []
    at = 0
    for name, array in arrays.items():
        columns.append((name, array.dtype.str, array.size, at))
        at += -(-array.nbytes // _ALIGNED) * _ALIGNED
    header = json.dumps({"columns": columns, "bytes": at}).encode("ascii")
    start = -(-(len(_MAGIC) + 8 + len(header)) // _ALIGNED) * _ALIGNED
    with path.open("xb") as file:
        file.write((_MAGIC + len(header).to_bytes(8, "little") + header).ljust(start, b"\0"))
        for array in arrays.values():
            np.ascontiguousarray(array).tofile(file)
            file.write(bytes(-array.nbytes % _ALIGNED))


def _mapped(path: Path) -> Arrays:
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("not a saved track")
        length = int.from_bytes(file.read(8), "little")
        if length > 1 << 20:
            raise ValueError("not a saved track")
        header = json.loads(file.read(length))
    start = -(-(len(_MAGIC) + 8 + length) // _ALIGNED) * _ALIGNED
    if path.stat().st_size != start + header["bytes"]:
        raise ValueError("a saved track is cut off")
    # As a plain array: taking parts of a memmap is ten times slower.
    whole = np.asarray(np.memmap(path, np.uint8, "r")) if header["bytes"] else np.zeros(start, np.uint8)
    arrays = {}
    for name, dtype, size, at in header["columns"]:
        kind = np.dtype(dtype)
        if kind.hasobject:
            raise ValueError("a saved track holds numbers only")
        arrays[name] = whole[start + at : start + at + size * kind.itemsize].view(kind)
    return arrays
