"""Open any input as a trace."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from stepscope.ingest.inputs import source_of
from stepscope.ingest.options import Options
from stepscope.ingest.recognise import Recognised, recognise
from stepscope.ingest.storing import Stores
from stepscope.ingest.whose.choice import choose
from stepscope.ingest.whose.companions import companions, recordings_alone
from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.notes import notes as whose_notes
from stepscope.model.trace import Note, Trace
from stepscope.readers.protocol import Source
from stepscope.store.manifest import DamagedStoreError, extent, read_manifest
from stepscope.store.opening import connect_ahead, open_stores

#: How often damaged stores are rewritten before giving up.
_ATTEMPTS: Final = 3


def open_trace(paths: Sequence[Path | str] | Path | str, options: Options | None = None) -> Trace:
    """Open files and folders as one trace: one run, and one span of each of its ranks.

    Raises:
        UserError: A path does not exist or holds no recording, or there is no such run or span.
        UnusableInputError: No recording in the input has anything usable.
    """
    options = options or Options()
    listed = [paths] if isinstance(paths, (str, Path)) else list(paths)
    found = recognise([Path(path) for path in listed])
    stores = Stores(options)
    try:
        trace = _opened(found, stores, options)
    except BaseException:
        stores.close()
        raise
    trace.when_closed(weakref.finalize(trace, stores.close))
    return trace


def _opened(found: Recognised, stores: Stores, options: Options) -> Trace:
    for attempt in range(_ATTEMPTS):
        connect = connect_ahead()
        unreadable = [one.error for one in found.skipped if one.unreadable]
        folders = stores.of(found.sources, unreadable)
        recordings, samples = recordings_alone([_found(source, folder) for source, folder in folders])
        try:
            choice = choose(recordings, options.run, options.span)
            return open_stores(
                {rank: group[0].store for rank, group in choice.ranks.items()},
                [*_skipped_notes(found), *stores.notes(), *whose_notes(recordings, choice)],
                snapshots={rank: group[1].store for rank, group in choice.ranks.items() if len(group) > 1},
                machines=companions(choice.ranks, samples),
                places=choice.places,
                locked=options.locked,
                check=True,
                connect=connect,
            )
        except DamagedStoreError as error:
            if attempt == _ATTEMPTS - 1:
                raise
            stores.distrust(error.store)
    raise AssertionError("the last attempt returns or raises")


def _found(source: Source, store: Path) -> FoundRecordings:
    recording = read_manifest(store)
    path = source.path / source.member if source.member else source.path
    kind = source_of(recording.reader)
    return FoundRecordings(recording, path, store, kind.timed, cache(partial(extent, store)), kind.companion)


def _skipped_notes(found: Recognised) -> list[Note]:
    notes: list[Note] = [
        ("input-unusable", "error", 1, f"{one.path} {one.why}", "it is left out")
        for one in found.skipped if one.unreadable
    ]  # fmt: skip
    others = [one for one in found.skipped if not one.unreadable]
    if others:
        shown = ", ".join(one.path.name for one in others[:5])
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        message = f"files are no recordings: {shown}{more}"
        notes.append(
            (
                "files-skipped", "info", len(others),
                f"{shown} {others[0].why}" if len(others) == 1 else message,
                "none; give the path of a file to force it to be read",
            )
        )  # fmt: skip
    return notes
