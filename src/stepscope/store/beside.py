"""What lies beside a recording: samples of the machine, and what kernel profilers counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from stepscope.model.recording import Recording
from stepscope.model.schema import TableSchema
from stepscope.model.tables import COUNTERS, HEALTH, KERNEL_COUNTERS, TRACKS
from stepscope.model.tables.machine import MACHINE, MACHINE_TABLES
from stepscope.store.layout import stored_columns
from stepscope.store.manifest import extent, read_manifest
from stepscope.store.snapshots import Snapshot

#: Added to numbers of tracks, so that they are none of the recording's.
_TRACKS: Final = 1_000_000_000
#: Its own observations; those about events are not about it.
_HEALTH: Final = "code LIKE 'machine-%'"


class AddsRows(Protocol):
    """What adds rows to the recording of a rank."""

    @property
    def store(self) -> Path:
        """Its folder."""
        ...

    def rows(self, table: TableSchema, rank: int, store: Path) -> list[str]:
        """SELECT statements of the rows that it adds to a table of the recording in a store."""
        ...


@dataclass(frozen=True, slots=True)
class MachineSamples:
    """The stored samples of the machine on which a rank ran.

    Attributes:
        store: Their folder.
        shift_ns: Added to their times to give those of the rank's recording.
        last_ns: When the last event of the recording began.
    """

    store: Path
    shift_ns: int
    last_ns: int

    @classmethod
    def of(cls, store: Path, recording: Path) -> MachineSamples | None:
        """The samples in a store beside a recording in another; None if one of the clocks is unknown."""
        origin, between = read_manifest(store).origin_unix_ns, extent(recording)
        start = read_manifest(recording).origin_unix_ns
        if origin is None or between is None or start is None:
            return None
        return cls(store, origin - start, between[1] - start)

    def rows(self, table: TableSchema, rank: int, store: Path) -> list[str]:
        """SELECT statements of the rows that they add to a table of the recording."""
        del store
        columns = {column.name: f'"{column.name}"' for column in stored_columns(table)} | {"rank": f"{rank}::INTEGER"}
        file, where = table.name, ""
        if "ts" in columns:
            columns["ts"] = f"ts + {self.shift_ns}"
        if "track" in columns:
            columns["track"] = f"track + {_TRACKS}"
        if table is COUNTERS:
            # A day of samples around seconds of events would hide these.
            file, where = MACHINE.name, f"WHERE ts + {self.shift_ns} BETWEEN 0 AND {self.last_ns}"
            columns["name"] = "subject || ': ' || series || ' (' || unit || ')'"
        elif table is TRACKS:
            where = "WHERE kind = 'counter'"
        elif table is HEALTH:
            where = f"WHERE {_HEALTH}"
        elif table not in MACHINE_TABLES:
            return []
        path = self.store / f"{file}.parquet"
        if not path.exists():
            return []
        selected = ", ".join(f'{columns[name]} AS "{name}"' for name in table.names)
        quoted = "'" + str(path).replace("'", "''") + "'"
        return [f"SELECT {selected} FROM read_parquet([{quoted}]) {where}"]


@dataclass(frozen=True, slots=True)
class CountedKernels:
    """What a kernel profiler counted of the program's kernels: a table of its own.

    Attributes:
        store: Its folder.
    """

    store: Path

    def rows(self, table: TableSchema, rank: int, store: Path) -> list[str]:
        """SELECT statements of the rows that it adds to a table of the recording."""
        del store
        path = self.store / f"{table.name}.parquet"
        if table is not KERNEL_COUNTERS or not path.exists():
            return []
        selected = ", ".join(f"{rank}::INTEGER AS rank" if name == "rank" else f'"{name}"' for name in table.names)
        quoted = "'" + str(path).replace("'", "''") + "'"
        return [f"SELECT {selected} FROM read_parquet([{quoted}])"]


def beside_of(
    recording: Path, described: Recording, snapshot: Path | None, machines: Iterable[Path], counted: Iterable[Path] = ()
) -> tuple[AddsRows, ...]:
    """What adds to the recording in a store: a memory snapshot, samples of the machine, counters of kernels."""
    samples = (MachineSamples.of(path, recording) for path in machines)
    first: tuple[AddsRows, ...] = () if snapshot is None else (Snapshot.of(snapshot, described),)
    return (*first, *(one for one in samples if one is not None), *map(CountedKernels, counted))
