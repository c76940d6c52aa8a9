"""Open any input as a trace."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Final

from stepscope.ingest.inputs import source_of
from stepscope.ingest.options import Options
from stepscope.ingest.recognise import Recognised, recognise
from stepscope.ingest.storing import Stores
from stepscope.ingest.whose.choice import choose
from stepscope.ingest.whose.companions import companions, counted_kernels, recordings_alone
from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.notes import notes as whose_notes
from stepscope.ingest.whose.notes import repeated
from stepscope.language import said
from stepscope.model.trace import Note, Trace
from stepscope.readers.protocol import Source
from stepscope.store.manifest import DamagedStoreError, extent, read_manifest
from stepscope.store.opening import connect_ahead, open_stores

Paths = Sequence[Path | str] | Path | str

#: How often damaged stores are rewritten before giving up.
_ATTEMPTS: Final = 3


def open_trace(paths: Paths, options: Options | None = None) -> Trace:
    """Open files and folders as one trace: one run, and one span of each of its ranks.

    Raises:
        UserError: A path does not exist or holds no recording, or there is no such run or span.
        UnusableInputError: No recording in the input has anything usable.
    """
    options = options or Options()
    inputs = Inputs([paths], options)
    try:
        trace = inputs.open(0, options.run, options.span)
    except BaseException:
        inputs.close()
        raise
    trace.when_closed(weakref.finalize(trace, inputs.close))
    return trace


class Inputs:
    """Several inputs whose recordings are read side by side; what is opened of them is usable until they are closed.

    Args:
        inputs: Files and folders of each.
        options: How to open them; `open` says which run and span.

    Raises:
        UserError: A path does not exist or holds no recording, or the store can't be written anywhere.
    """

    def __init__(self, inputs: Sequence[Paths], options: Options) -> None:
        self._options = options
        listed = [[paths] if isinstance(paths, (str, Path)) else list(paths) for paths in inputs]
        self._found = [recognise([Path(path) for path in paths], options.looking) for paths in listed]
        self._stores = Stores(options)
        if len(inputs) > 1:
            try:
                self._stores.read([sourced for found in self._found for sourced in found.sources])
            except BaseException:
                self._stores.close()
                raise

    def open(self, number: int, run: str | None = None, span: int | None = None) -> Trace:
        """Open the input of this number, from 0, as `open_trace` does.

        Raises:
            UserError: There is no such run or span.
            UnusableInputError: No recording in the input has anything usable.
        """
        return _opened(self._found[number], self._stores, replace(self._options, run=run, span=span))

    def close(self) -> None:
        """Release what was stored for them."""
        self._stores.close()

    def __enter__(self) -> Inputs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _opened(found: Recognised, stores: Stores, options: Options) -> Trace:
    for attempt in range(_ATTEMPTS):
        connect = connect_ahead()
        unreadable = [one.error for one in found.skipped if one.unreadable]
        folders, notes = stores.of(found.sources, unreadable)
        recordings, samples = recordings_alone([_found(source, folder) for source, folder in folders])
        try:
            choice = choose(recordings, options.run, options.span)
            return open_stores(
                {rank: group[0].store for rank, group in choice.ranks.items()},
                [*_skipped_notes(found), *notes, *whose_notes(recordings, choice), *_stated_note(options)],
                snapshots={rank: group[1].store for rank, group in choice.ranks.items() if len(group) > 1},
                machines=companions(choice.ranks, samples),
                counted=counted_kernels(choice.ranks, samples),
                places=choice.places,
                stated=options.stated,
                locked=options.locked,
                check=True,
                connect=connect,
            )
        except DamagedStoreError as error:
            if attempt == _ATTEMPTS - 1:
                raise
            stores.distrust(error.store)
    raise AssertionError("the last attempt returns or raises")


def _stated_note(options: Options) -> list[Note]:
    return [] if options.stated is None else [options.stated.note()]


def _found(source: Source, store: Path) -> FoundRecordings:
    recording = read_manifest(store)
    path = source.path / source.member if source.member else source.path
    kind = source_of(recording.reader)
    return FoundRecordings(recording, path, store, kind.timed, cache(partial(extent, store)), kind.companion)


def _skipped_notes(found: Recognised) -> list[Note]:
    notes: list[Note] = [
        ("input-unusable", "error", 1, one.sentence, said("it is left out"))
        for one in found.skipped if one.unreadable
    ]  # fmt: skip
    for one in found.written:
        which = said("the recording")
        if len(one.recordings) > 1:
            which = said("the {count:,} recordings", count=len(one.recordings))
        gone = said("; {gone:,} others are no longer there", gone=len(one.gone)) if one.gone else ""
        told = said("the input {name} is what stepscope wrote about recordings{gone}", name=one.path.name, gone=gone)
        notes.append(
            (
                "report-opened",
                "info",
                1,
                told,
                said("{which} that it was made of, as a whole, opened in its place", which=which),
            )
        )
    notes += repeated([source.path / source.member for source in found.copies])
    others = [one for one in found.skipped if not one.unreadable]
    if others:
        shown = ", ".join(one.path.name for one in others[:5])
        more = said(" and {others} more", others=len(others) - 5) if len(others) > 5 else ""
        message = said("files are no recordings: {shown}{more}", shown=shown, more=more)
        notes.append(
            (
                "files-skipped", "info", len(others),
                said("{path} {why}", path=shown, why=others[0].why) if len(others) == 1 else message,
                said("none; {remedy}", remedy=said("give the path of a file to force it to be read")),
            )
        )  # fmt: skip
    return notes
