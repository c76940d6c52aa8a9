"""Read one recording into a store folder."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.readers.protocol import Progress, Reader, Source
from stepscope.store.checking import check_events
from stepscope.store.manifest import write_manifest
from stepscope.store.staging import Staging


def read_recording(reader: Reader, source: Source, folder: Path, progress: Progress, threads: int = 0) -> None:
    """Read a recording and write its store into `folder`.

    Raises:
        UnusableInputError: There is nothing usable in it.
    """
    staging = Staging(folder, threads=threads)
    try:
        recording = reader.read(source, staging, progress)
        # A third of all imports, which another thread has made by now.
        from stepscope.ingest.derive import derive

        origin = derive(staging)
        if origin is None:
            raise UnusableInputError(
                said("{source} holds no event with a usable time", source=source),
                hint="give a trace written by torch.profiler",
            )
        check_events(folder, staging.connection)
        [events] = staging.one("SELECT count(*) FROM raw_events")
        recording = replace(recording, events=events, origin_unix_ns=_unix(recording.origin_unix_ns, origin))
        write_manifest(folder, recording, staging.connection)
    finally:
        staging.close()
        shutil.rmtree(folder / "spill", ignore_errors=True)


def _unix(base: int | None, origin: int) -> int | None:
    """Unix time of the origin: recorded times are Unix times, or relative to a recorded base.

    A clock that shows a time after 2001 (10^18 ns) is Unix time already.
    """
    if origin >= 10**18:
        return origin
    return None if base is None else base + origin
