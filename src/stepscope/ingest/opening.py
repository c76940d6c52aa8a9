"""Open any input as a trace."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stepscope.ingest.options import Options
from stepscope.ingest.ranks import assign_ranks
from stepscope.ingest.recognise import Recognised, recognise
from stepscope.ingest.storing import Stores
from stepscope.model.trace import Note, Trace
from stepscope.store.manifest import DamagedStoreError, read_manifest
from stepscope.store.opening import connect_ahead, open_stores

#: How often damaged stores are rewritten before giving up.
_ATTEMPTS: Final = 3


def open_trace(paths: Sequence[Path | str] | Path | str, options: Options | None = None) -> Trace:
    """Open files and folders as one trace, one rank per recording.

    Raises:
        UserError: A path does not exist or holds no recording.
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
        ranks, rank_notes = assign_ranks([read_manifest(folder) for folder in folders])
        notes = [*_skipped_notes(found), *stores.notes(), *rank_notes]
        by_rank = dict(zip(ranks, folders, strict=True))
        try:
            return open_stores(by_rank, notes, locked=options.locked, check=True, connect=connect)
        except DamagedStoreError as error:
            if attempt == _ATTEMPTS - 1:
                raise
            stores.distrust(error.store)
    raise AssertionError("the last attempt returns or raises")


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
