"""Read samples of the machine into the tables `machine` and `storages`."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.model.recording import Recording
from stepscope.readers.machine.inputs import NAME
from stepscope.readers.machine.lines import Lines
from stepscope.readers.machine.series import SeriesMaker, Value
from stepscope.readers.protocol import Progress, Source
from stepscope.readers.untrusted import rows_of, short_text
from stepscope.store.staging import Staging

_BATCH: Final = 100_000
_SUBJECTS: Final = 4096
_KINDS: Final = ("solid state", "rotational", "network", "memory")


def read(source: Source, staging: Staging, progress: Progress) -> Recording:
    """Stage every sample, and the kinds of storage.

    Raises:
        UnusableInputError: There is no sample.
    """
    lines = Lines.of(source)
    first = last = 0
    storages: dict[str, dict[str, Any]] = {}
    batch: list[Value] = []
    tracks: dict[str, int] = {}
    maker: SeriesMaker | None = None
    for sample in lines.samples(progress):
        maker = maker or SeriesMaker(lines.head)
        first, last = first or sample["unix_ns"], sample["unix_ns"]
        for row in rows_of(sample.get("storage")):
            if (mount := short_text(row.get("mount"))) and len(storages) < _SUBJECTS:
                storages.setdefault(mount, row)
        batch += maker.of(sample)
        if len(batch) >= _BATCH:
            _stage(staging, batch, first, tracks)
            batch = []
    if not first:
        raise UnusableInputError(
            said("{source} can't be used: it holds no sample of the machine", source=source),
            hint="give the file as stepscope record writes it beside a recording",
        )
    _stage(staging, batch, first, tracks)
    _stage_storages(staging, storages)
    _stage_span(staging, first, last)
    _observe(staging, lines)
    attributes: dict[str, str | int | float | bool] = {"until_unix_ns": last}
    return Recording(str(source), NAME, host=short_text(lines.head.get("host")), attributes=attributes)


def _stage(staging: Staging, batch: list[Value], first: int, tracks: dict[str, int]) -> None:
    for subject in dict.fromkeys(value.subject for value in batch):
        if subject not in tracks and len(tracks) < _SUBJECTS:
            tracks[subject] = staging.track("counter", process="machine", thread=subject)
    # A file can't ask for millions of tracks.
    batch = [value for value in batch if value.subject in tracks]
    columns = {
        "ts": pa.array([value.ts - first for value in batch], pa.int64()),
        "track": pa.array([tracks[value.subject] for value in batch], pa.int32()),
        "subject": pa.array([value.subject for value in batch], pa.string()),
        "series": pa.array([value.series for value in batch], pa.string()),
        "unit": pa.array([value.unit for value in batch], pa.string()),
        "value": pa.array([value.value for value in batch], pa.float64()),
    }
    staging.insert("machine", pa.table(columns))


def _stage_storages(staging: Staging, storages: dict[str, dict[str, Any]]) -> None:
    columns = {
        "mount": pa.array(list(storages), pa.string()),
        "filesystem": pa.array([short_text(row.get("filesystem")) or "" for row in storages.values()], pa.string()),
        "kind": pa.array(
            [kind if (kind := row.get("kind")) in _KINDS else "unknown" for row in storages.values()], pa.string()
        ),
        "disk": pa.array([short_text(row.get("disk")) for row in storages.values()], pa.string()),
    }
    staging.insert("storages", pa.table(columns))


def _stage_span(staging: Staging, first: int, last: int) -> None:
    """A single event, from the first sample to the last: a store has one."""
    name = staging.add_names(["samples of the machine"])["samples of the machine"]
    track = staging.track("host", process="machine", thread="samples")
    staging.connection.execute(
        "INSERT INTO raw_events BY NAME SELECT 0 AS id, ? AS ts, ? AS dur, ? AS track, ? AS name_id, "
        "'other' AS category",
        [first, last - first, track, name],
    )


def _observe(staging: Staging, lines: Lines) -> None:
    if not lines.damage.whole or lines.cut:
        staging.observe("machine-truncated", "warning", 1, "the samples of the machine end early",
                        "what came after is missing from them; nothing else is")  # fmt: skip
    staging.observe("machine-unreadable", "warning", lines.unreadable, "lines of the samples of the machine could not "
                    "be read", "rates there are means over a longer time")  # fmt: skip
    staging.observe("machine-misplaced", "warning", lines.misplaced, "samples of the machine are not later than the "
                    "one before: its clock was set back", "they are left out")  # fmt: skip
