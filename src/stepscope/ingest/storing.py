"""Find or write the store of every recording of an input, and keep it while it is used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from stepscope.ingest.options import Options
from stepscope.ingest.workers import WorkerDiedError, Workers, in_order, processes
from stepscope.language import said
from stepscope.model.errors import StepscopeError, UnusableInputError, UserError
from stepscope.model.process.leaving import before_leaving
from stepscope.model.sizes import SIZES
from stepscope.model.trace import Note
from stepscope.readers.packing.zips import archive_of
from stepscope.readers.protocol import Progress, Reader, Source
from stepscope.store.cache import Cache
from stepscope.store.cache_settings import cache_key
from stepscope.store.contents import FileFingerprint, contents_of
from stepscope.store.failures import CannotStoreError
from stepscope.store.manifest import read_manifest

Sourced = tuple[Source, Reader]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A recording, with its files and the name of its store."""

    source: Source
    reader: Reader
    contents: FileFingerprint
    key: str


class Stores:
    """The stores of recordings, in the cache or, where that can't be written, in a temporary one.

    What can't be read is tried once.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._temporary: list[Cache] = []
        self._cache = Cache(options.store) if options.cache else self._temporary_cache()
        self._spare: Cache | None = None
        self._contents: dict[Path, FileFingerprint] = {}
        self._errors: dict[Source, StepscopeError] = {}
        self._changed: set[Source] = set()

    def read(self, sources: Sequence[Sourced]) -> None:
        """Read those recordings of several inputs that have no store, side by side; errors are for `of` to tell.

        Raises:
            UserError: The store can't be written anywhere.
        """
        self._read(list(dict.fromkeys(sources)))

    def of(
        self, sources: Sequence[Sourced], others: Sequence[StepscopeError] = ()
    ) -> tuple[list[tuple[Source, Path]], list[Note]]:
        """Each recording that can be read, and each further one that lies in the same file, with its folder.

        Beside them, notes on recordings that could not be read, or that changed while being read.

        Args:
            sources: The recordings of an input.
            others: Errors of files that could not be recognised, reported if no recording can be read.

        Raises:
            UnusableInputError: None can be read.
            UserError: The store can't be written anywhere.
        """
        if self._options.cache:
            self._cache.remove_leftovers()  # also where nothing has to be written
        firsts = self._read(sources)
        all_: list[Sourced] = []
        for source, reader in sources:
            all_.append((source, reader))
            if (folder := firsts.get(source)) is not None:
                all_ += [(replace(source, part=part), reader) for part in read_manifest(folder).parts]
        stores = firsts | self._read([sourced for sourced in all_ if sourced[0].part])
        errors = [self._errors[source] for source, _ in all_ if source in self._errors]
        if not stores:
            raise _none_usable([*errors, *others])
        changed = [source.path.name for source, _ in all_ if source in self._changed]
        return [(source, stores[source]) for source, _ in all_ if source in stores], list(_notes(errors, changed))

    def distrust(self, folder: Path) -> None:
        """Discard a damaged store, so that it is rewritten."""
        for cache in self._caches():
            cache.distrust(folder)

    def close(self) -> None:
        """Release all stores."""
        for cache in self._caches():
            cache.release()
        while self._temporary:
            self._temporary.pop().remove()

    def _caches(self) -> list[Cache]:
        return [self._cache] if self._spare is None else [self._cache, self._spare]

    def _take(self, wanted: _Wanted, name: str = "") -> Path | None:
        found = (cache.take(wanted.key, name) for cache in self._caches())
        return next((folder for folder in found if folder is not None), None)

    def _read(self, sources: Sequence[Sourced]) -> dict[Source, Path]:
        """The store of each recording, reading those without one."""
        tried = [(source, reader) for source, reader in sources if source not in self._errors]
        all_ = [wanted for source, reader in tried if (wanted := self._wanted(source, reader)) is not None]
        missing = [wanted for wanted in all_ if self._take(wanted) is None]
        progress = _Advance(self._options, sum(_size(wanted) for wanted in missing))
        large = progress.total > SIZES.parallel_bytes or len(missing) >= SIZES.parallel_ranks
        if len(missing) > 1 and (large or self._options.workers is not None):
            workers = self._options.workers or processes
            with workers(len(missing), max(map(_memory, missing))) as these:
                if these.size > 1 or self._options.workers is not None:
                    self._read_by(these, missing, progress)
            # A worker may have been killed, and other processes may have removed its store before it was taken.
            missing = [w for w in missing if w.source not in self._errors and self._take(w) is None]
        for wanted in missing:
            done = progress.done
            try:
                self._read_here(wanted, progress.of(wanted))
            except UnusableInputError as error:
                self._errors[wanted.source] = error
            progress.done = done + _size(wanted)
        found = ((wanted.source, self._take(wanted)) for wanted in all_ if wanted.source not in self._errors)
        return {source: folder for source, folder in found if folder is not None}

    def _wanted(self, source: Source, reader: Reader) -> _Wanted | None:
        """A recording with the name of its store; None, with an error noted, if its files can't be read."""
        try:
            if source.path not in self._contents:
                self._contents[source.path] = contents_of(source.path)
        except OSError as error:
            self._errors[source] = _unreadable(source, error)
            return None
        contents = self._contents[source.path]
        member = f"{source.member}|{source.part}" if source.part else source.member
        return _Wanted(source, reader, contents, cache_key(contents, member, reader.name, reader.version))

    def _read_here(self, wanted: _Wanted, progress: Progress) -> None:
        while True:
            try:
                _, changed = _store(self._spare or self._cache, wanted, progress)
            except CannotStoreError as error:
                self._fall_back(error)
            else:
                break
        if changed:
            self._changed.add(wanted.source)

    def _fall_back(self, error: CannotStoreError) -> None:
        """Switch to a temporary cache if the cache can't be written.

        Raises:
            UserError: The temporary cache can't be written either.
        """
        if self._spare is not None or not self._options.cache:
            raise UserError(
                said("there is no room for what is read: {message}", message=error.message),
                hint="free some, or set TMPDIR or --store to a folder that has it",
            ) from error
        self._options.say(said("{message}: what is read now is not kept", message=error.message))
        self._spare = self._temporary_cache()

    def _temporary_cache(self) -> Cache:
        try:
            self._temporary.append(Cache.temporary())
        except OSError as error:
            raise UserError(
                said(
                    "there is no room for what is read: no temporary folder can be made ({strerror})",
                    strerror=error.strerror or error,
                ),
                hint="set TMPDIR or --store to a folder that can be written",
            ) from error
        return self._temporary[-1]

    def _read_by(self, workers: Workers, missing: Sequence[_Wanted], progress: _Advance) -> None:
        cache = self._spare or self._cache
        with _cleared_up(cache):
            for outcome in in_order(workers, partial(_store_there, cache.root, cache.limit), missing):
                wanted, error = outcome.item, outcome.error
                if outcome.value is not None:
                    name, changed = outcome.value
                    # The worker still holds it.
                    if self._take(wanted, name) is not None and changed:
                        self._changed.add(wanted.source)
                elif isinstance(error, UnusableInputError):
                    self._errors[wanted.source] = error
                elif isinstance(error, WorkerDiedError):
                    self._errors[wanted.source] = _deadly(wanted.source)
                elif not isinstance(error, CannotStoreError):
                    assert error is not None
                    raise error
                elif self._spare is None:
                    self._fall_back(error)
                progress.advance(wanted, _size(wanted))


@contextmanager
def _cleared_up(cache: Cache) -> Iterator[None]:
    """Remove at the end, however it comes about, what killed workers have left."""
    with before_leaving(cache.remove_leftovers):
        try:
            yield
        finally:
            cache.remove_leftovers()


def _store(cache: Cache, wanted: _Wanted, progress: Progress, threads: int = 0) -> tuple[str, bool]:
    """Read a recording into a cache; returns the name of its store, and whether the recording changed meanwhile.

    Raises:
        UnusableInputError: There is nothing usable in it.
        CannotStoreError: It can't be stored there.
    """
    # Deriving need not be imported for cached recordings.
    from stepscope.ingest.reading import read_recording

    changed = False

    def keep() -> bool:
        nonlocal changed
        changed = not wanted.contents.are_unchanged()
        return not changed

    try:
        with cache.writing(wanted.key, keep) as folder:
            read_recording(wanted.reader, wanted.source, folder, progress, threads)
    except UnusableInputError as error:
        if keep():
            raise
        raise UnusableInputError(
            said("{message}, and it changed while it was read", message=error.message), hint=error.hint
        ) from error
    except OSError as error:
        raise _unreadable(wanted.source, error) from error
    taken = cache.take(wanted.key)
    return (wanted.key if taken is None else taken.name), changed


#: Caches of a worker process by folder: they hold its stores until the parent process has taken them.
_WRITTEN: Final[dict[Path, Cache]] = {}


def _store_there(root: Path, limit: int, wanted: _Wanted) -> tuple[str, bool]:
    """`_store` in a worker process, which holds the store while it lives."""
    return _store(_WRITTEN.setdefault(root, Cache(root, limit)), wanted, lambda _: None, threads=1)


class _Advance:
    """Progress of reading several recordings."""

    def __init__(self, options: Options, total: int) -> None:
        self._report = options.report
        self._guard = threading.Lock()
        self.total = total
        self.done = 0

    def advance(self, wanted: _Wanted, size: int) -> None:
        """Add `size` bytes read."""
        with self._guard:
            self.done += size
            self._report(str(wanted.source), self.done, self.total)

    def of(self, wanted: _Wanted) -> Callable[[int], None]:
        """A progress callback for one recording."""
        return lambda size: self.advance(wanted, size)


#: What a process needs to read the smallest recording, and any but for a tenth of its size.
_LEAST_MEMORY: Final = 300 << 20
_MOST_MEMORY: Final = 1 << 30
#: Most recordings named individually in the error that none can be used.
_NAMED: Final = 5


def _notes(errors: Sequence[StepscopeError], changed: Sequence[str]) -> Iterator[Note]:
    for error in errors:
        yield "input-unusable", "error", 1, error.message, said("it is left out")
    if changed:
        yield (
            "input-changed", "warning", len(changed),
            said("{changed} changed while it was read", changed=changed[0]) if len(changed) == 1
            else said("recordings changed while they were read: {changed}", changed=', '.join(changed)),
            said("what was whole is analysed; run again when it is written to the end"),
        )  # fmt: skip


def _none_usable(errors: Sequence[StepscopeError]) -> StepscopeError:
    if len(errors) == 1:
        return errors[0]
    listed = "; ".join(error.message for error in errors[:_NAMED])
    more = said("; and {errors:,} more", errors=len(errors) - _NAMED) if len(errors) > _NAMED else ""
    hints = list(dict.fromkeys(error.hint for error in errors))
    return UnusableInputError(
        said("none of {errors:,} recordings can be used: {listed}{more}", errors=len(errors), listed=listed, more=more),
        hint=hints[0],
    )


def _unreadable(source: Source, error: OSError) -> UnusableInputError:
    return UnusableInputError(
        said("{source} can't be read ({strerror})", source=source, strerror=error.strerror or error),
        hint="check the path and its permissions",
    )


def _deadly(source: Source) -> UnusableInputError:
    return UnusableInputError(
        said("{source} can't be read (whatever process read it was ended by the system)", source=source),
        hint="read it alone, with more memory",
    )


def _memory(wanted: _Wanted) -> int:
    """Memory that reading a recording takes at most, about, in bytes."""
    return min(_LEAST_MEMORY + 5 * _size(wanted), _MOST_MEMORY + _size(wanted) // 10)


def _size(wanted: _Wanted) -> int:
    """Bytes to be read: of the recording's files, or its packed ones in an archive."""
    archive = archive_of(wanted.source.path) if wanted.source.member else None
    if archive is not None and wanted.source.member in archive.members:
        return archive.members[wanted.source.member].packed
    return sum(size for _, size, *_ in wanted.contents.status)
