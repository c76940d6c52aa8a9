"""Exports of Nsight Systems, to be changed in place."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Final

from bench.recordings.variants.recording import NotApplicableError, Warp, Window
from bench.repeat_binary import event_tables, repeat_export

#: Tables of work on devices.
WORK: Final = tuple(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"))
_RUNTIME: Final = "CUPTI_ACTIVITY_KIND_RUNTIME"


class NsightRecording:
    """A copy of an export."""

    def __init__(self, source: Path, place: Path) -> None:
        """Copy an export into a folder."""
        self.path = place / source.name
        shutil.copyfile(source, self.path)
        self.database = sqlite3.connect(self.path)
        self.tables = {
            name: columns
            for name, columns in event_tables(self.database).items()
            if self.database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        }

    def window(self) -> Window:
        """From the first row to the last."""
        bounds = [
            self.database.execute(f'SELECT min("start"), max({_end(columns)}) FROM "{name}"').fetchone()
            for name, columns in self.tables.items()
        ]
        return min(first for first, _ in bounds), max(last for _, last in bounds)

    def steps(self) -> list[Window]:
        """None: ranges have any name."""
        return []

    def warp(self, host: Warp, device: Warp) -> None:
        """Move rows by the table that they lie in."""
        for name, columns in self.tables.items():
            self.database.create_function("moved", 1, device if name in WORK else host, deterministic=True)
            changes = [f'"{column}" = moved("{column}")' for column in ("start", "end") if column in columns]
            where = ' WHERE "end" IS NOT NULL' if "end" in columns else ""
            self.database.execute(f'UPDATE "{name}" SET {", ".join(changes)}{where}')

    def cut(self, start: int, end: int) -> None:
        """Drop rows that start outside; work that was launched inside is written though it runs later."""
        launched = f'SELECT correlationId FROM "{_RUNTIME}" WHERE "start" >= {start} AND "start" < {end}'
        for name in [*self.tables]:
            late = f" AND correlationId NOT IN ({launched})" if name in WORK and _RUNTIME in self.tables else ""
            self.database.execute(
                f'DELETE FROM "{name}" WHERE "start" < {start} OR ("start" >= {end}{late if name in WORK else ""})'
            )

    def repeat(self, times: int) -> None:
        """Record the whole job so many times."""
        rows = sum(self.database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in self.tables)
        self.database.commit()
        target = self.path.with_name("repeated.sqlite")
        repeat_export(self.path, target, rows * times)
        self.database.close()
        self.path = target
        self.database = sqlite3.connect(target)

    def string(self, text: str) -> int:
        """The number of a new string."""
        number: int = self.database.execute("SELECT max(id) + 1 FROM StringIds").fetchone()[0]
        self.database.execute("INSERT INTO StringIds (id, value) VALUES (?, ?)", (number, text))
        return number

    def drop(self, *names: str) -> None:
        """Remove tables that are there and hold rows."""
        there = [name for name in names if name in self.tables]
        if not there:
            raise NotApplicableError
        for name in there:
            self.database.execute(f'DROP TABLE "{name}"')

    def save(self, folder: Path) -> Path:
        """Write the export."""
        self.database.commit()
        self.close()
        return self.path.replace(folder / "recording.sqlite")

    def close(self) -> None:
        """Let go of the export."""
        self.database.close()


def _end(columns: list[str]) -> str:
    return 'coalesce("end", "start")' if "end" in columns else '"start"'
