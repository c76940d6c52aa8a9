"""A finished report kept beside the store: never that of another recording, version, language or options."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import fields
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope import __version__
from stepscope.language import spoken
from stepscope.rules import ENTRY_POINTS
from stepscope.store.stamp import stamp_of
from stepscope.web.finished import Finished
from stepscope.web.tiles.saved import Saved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stepscope.model.trace import Trace
    from stepscope.reports.selection import ReportOptions

#: Name of the folder within a store. To be raised whenever what is written changes its form.
FOLDER: Final = "report-2"
#: Options that don't change what a report says.
_ASIDE: Final = frozenset({"progress", "workers"})
#: Libraries that compute what a report says.
_LIBRARIES: Final = ("duckdb", "numpy", "pyarrow")
#: Reports of one store: those of other thresholds or versions go, the oldest first.
_MOST: Final = 4
_DIGEST: Final = "digest"


class KeptReport:
    """The place of a trace's report, if it has one.

    Args:
        trace: Of what the report is. One that is not stored under a key of its content has no place.
        options: What the report contains.
    """

    def __init__(self, trace: Trace, options: ReportOptions) -> None:
        self._folder: Path | None = None
        stores = trace.stores
        # What rules of third parties say may change without a version that tells.
        if stores and not entry_points(group=ENTRY_POINTS):
            self._folder = trace.folders[min(trace.folders)]
            self._key = _key(trace, options)
            self._saved = Saved(self._folder, FOLDER)

    def load(self) -> Finished | None:
        """The report; None if none is kept, or its copy is damaged."""
        if self._folder is None:
            return None
        arrays = self._saved.load(self._key)
        if arrays is None or _DIGEST not in arrays or bytes(arrays.pop(_DIGEST)) != _digest(arrays):
            return None
        return Finished.from_answers(arrays)

    def save(self, answers: Mapping[str, bytes]) -> None:
        """Keep a report; where that is not possible, it is made again the next time."""
        if self._folder is None:
            return
        arrays = {name: np.frombuffer(answer, np.uint8) for name, answer in answers.items()}
        self._remove_old(self._folder / FOLDER)
        self._saved.save({**arrays, _DIGEST: np.frombuffer(_digest(arrays), np.uint8)}, self._key)

    def _remove_old(self, folder: Path) -> None:
        with suppress(OSError):  # there is none yet, or it can't be changed
            files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
            for file in files[: max(0, len(files) - _MOST + 1)]:
                file.unlink()


def _digest(arrays: Mapping[str, Any]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}|{array.size}|".encode())
        digest.update(array)
    return digest.digest()


def _key(trace: Trace, options: ReportOptions) -> str:
    """What a report depends on: the stores and what was said on opening them, the options, language and code."""
    wanted = [(one.name, getattr(options, one.name)) for one in fields(options) if one.name not in _ASIDE]
    asked = (trace.ranks, trace.stores, trace.job.stores, trace.notes, trace.places, wanted)
    return f"{__version__} {_code()} {spoken()} {asked!r}"


@cache
def _code() -> str:
    """The whole package, since any part of it may change what a report says, and the libraries that compute."""
    found = [stamp_of(Path(__file__).parent.parent, ("",))]
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return " ".join(found)
