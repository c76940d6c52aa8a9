"""Open any input as a trace."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from stepscope.ingest.ranks import assign_ranks
from stepscope.ingest.recognise import Recognised, recognise
from stepscope.model.errors import StepscopeError, UnusableInputError
from stepscope.model.trace import Note, Trace
from stepscope.readers.protocol import Reader, Source
from stepscope.store.cache import Cache, cache_key
from stepscope.store.opening import connect_ahead, open_stores, read_manifest

#: Called with (what is being done, bytes done, bytes in all).
Report = Callable[[str, int, int], None]

Sourced = tuple[Source, Reader]

#: Processes are started for many recordings only if there is this much to read, since each takes a while to start.
_PARALLEL_BYTES: Final = 48 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """How to open an input.

    Attributes:
        cache: Keep what was read for the next time, and use what was kept.
        store: Folder to keep it in; None for the user's cache folder.
        report: Told of the progress.
        locked: Let queries reach no file but the store's, no network and no setting: for the SQL of strangers.
    """

    cache: bool = True
    store: Path | None = None
    report: Report = lambda *_: None
    locked: bool = False


def open_trace(paths: Sequence[Path | str] | Path | str, options: Options | None = None) -> Trace:
    """Open files and folders as one trace, one rank per recording.

    Raises:
        UserError: A path does not exist or holds no recording.
        UnusableInputError: No recording in the input has anything usable.
    """
    options = options or Options()
    listed = [paths] if isinstance(paths, (str, Path)) else list(paths)
    found = recognise([Path(path) for path in listed])
    connect = connect_ahead()
    with _cache(options) as (cache, keep_alive):
        stores, notes = _ingest(found, cache, options)
        recordings = [read_manifest(store) for store in stores]
        ranks, rank_notes = assign_ranks(recordings)
        notes = [*_skipped_notes(found), *notes, *rank_notes]
        trace = open_stores(dict(zip(ranks, stores, strict=True)), notes, locked=options.locked, connect=connect)
        if keep_alive is not None:
            weakref.finalize(trace, keep_alive.cleanup)
        return trace


@contextmanager
def _cache(options: Options) -> Iterator[tuple[Cache, tempfile.TemporaryDirectory[str] | None]]:
    """The cache to use; without one, a temporary folder that lives as long as the trace."""
    if options.cache:
        yield Cache(options.store), None
        return
    temporary = tempfile.TemporaryDirectory(prefix="stepscope-", ignore_cleanup_errors=True)
    try:
        yield Cache(Path(temporary.name), limit=2**63), temporary
    except BaseException:
        temporary.cleanup()
        raise


def _ingest(found: Recognised, cache: Cache, options: Options) -> tuple[list[Path], list[Note]]:
    """Make sure that every recording has a store; returns the folders of those that could be read."""
    errors = _read_missing(found.sources, cache, options)
    sources: list[Sourced] = []
    for source, reader in found.sources:
        sources.append((source, reader))
        if (key := _key(source, reader)) not in errors:
            parts = read_manifest(cache.root / key).parts
            sources += [(replace(source, part=part), reader) for part in parts]
    errors |= _read_missing([sourced for sourced in sources if sourced[0].part], cache, options)
    keys = [_key(source, reader) for source, reader in sources]
    usable = [cache.root / key for key in keys if key not in errors]
    if not usable:
        raise next(iter(errors.values()))
    notes: list[Note] = [
        ("input-unusable", "error", 1, f"{error.message}", "it is left out") for error in errors.values()
    ]
    return usable, notes


def _key(source: Source, reader: Reader) -> str:
    member = f"{source.member}|{source.part}" if source.part else source.member
    return cache_key(source.path, member, reader.name, reader.version)


def _read_missing(sources: Sequence[Sourced], cache: Cache, options: Options) -> dict[str, StepscopeError]:
    """Read the sources that have no store yet; returns what went wrong, by key."""
    keys = [_key(source, reader) for source, reader in sources]
    missing = [
        (source, reader, key) for (source, reader), key in zip(sources, keys, strict=True) if not cache.find(key)
    ]
    errors: dict[str, StepscopeError] = {}
    total = sum(_size(source) for source, _, _ in missing)
    if len(missing) > 1 and total > _PARALLEL_BYTES and (os.cpu_count() or 1) > 1:
        return _read_in_processes(missing, cache, options, total)
    done = 0
    for source, reader, key in missing:
        try:
            _read_one(cache, source, reader, key, _advance(options.report, str(source), done, total))
        except UnusableInputError as error:
            errors[key] = error
        done += _size(source)
    return errors


def _advance(report: Report, label: str, done: int, total: int) -> Callable[[int], None]:
    position = done

    def advance(size: int) -> None:
        nonlocal position
        position += size
        report(label, position, total)

    return advance


def _read_one(
    cache: Cache, source: Source, reader: Reader, key: str, progress: Callable[[int], None], threads: int = 0
) -> None:
    # What derives the tables is not needed where they are in the cache.
    from stepscope.ingest.reading import read_recording

    with cache.writing(key) as folder:
        read_recording(reader, source, folder, progress, threads)


def _read_in_processes(
    missing: list[tuple[Source, Reader, str]], cache: Cache, options: Options, total: int
) -> dict[str, StepscopeError]:
    # What starts processes takes a while to import.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    errors: dict[str, StepscopeError] = {}
    done = 0
    context = multiprocessing.get_context("spawn")
    workers = min(len(missing), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=context) as executor:
        tasks = {
            executor.submit(_read_one, cache, source, reader, key, _nothing, 1): (source, key)
            for source, reader, key in missing
        }
        for task in as_completed(tasks):
            source, key = tasks[task]
            try:
                task.result()
            except UnusableInputError as error:
                errors[key] = error
            done += _size(source)
            options.report(str(source), done, total)
    return errors


def _nothing(_: int) -> None:
    pass


def _size(source: Source) -> int:
    if source.path.is_dir():
        return sum(p.stat().st_size for p in source.path.rglob("*") if p.is_file())
    return source.path.stat().st_size


def _skipped_notes(found: Recognised) -> list[Note]:
    if not found.skipped:
        return []
    shown = ", ".join(str(path.name) for path in found.skipped[:5])
    more = f" and {len(found.skipped) - 5} more" if len(found.skipped) > 5 else ""
    return [
        (
            "files-skipped", "info", len(found.skipped), f"files are no recordings: {shown}{more}",
            "none; give the path of a file to force it to be read",
        )
    ]  # fmt: skip
