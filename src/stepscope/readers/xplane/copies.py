"""Files that hold a recording which another one holds better, by the names that its profiler gives them.

The profiler of JAX writes `HOST.xplane.pb`, the same as a Chrome trace beside it, `HOST.trace.json.gz`, which leaves
out some of millions of events, and that once more for Perfetto.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from stepscope.readers.protocol import Source
from stepscope.readers.xplane.inputs import NAME as XPLANE

_WHOLE: Final = re.compile(r"(.+)\.xplane\.pb(\.\w+)?")
_CHROME: Final = re.compile(r"(.+)\.trace\.json(\.gz)?")
_PERFETTO: Final = re.compile(r"perfetto_trace\.json(\.gz)?")


def copies(sources: Iterable[tuple[Source, str]]) -> Callable[[Source], bool]:
    """Which of the recordings of an input, each with the name of its reader, another of the same folder holds."""
    hosts: set[tuple[Path, str]] = set()
    folders: set[Path] = set()
    for source, reader in sources:
        place = _place(source)
        if reader == XPLANE and (found := _WHOLE.fullmatch(place.name)):
            hosts.add((place.parent, found[1]))
            folders.add(place.parent)
        elif _CHROME.fullmatch(place.name):
            folders.add(place.parent)

    def is_copy(source: Source) -> bool:
        place = _place(source)
        found = _CHROME.fullmatch(place.name)
        if found is not None and (place.parent, found[1]) in hosts:
            return True
        return place.parent in folders and _PERFETTO.fullmatch(place.name) is not None

    return is_copy


def _place(source: Source) -> Path:
    return source.path / source.member if source.member else source.path
