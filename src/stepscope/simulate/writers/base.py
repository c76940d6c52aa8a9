"""The interface of writers: take one rank's records in batches and write its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from stepscope.simulate.job import SimJob
from stepscope.simulate.records import Record


class Writer(Protocol):
    """Writes one rank's recording."""

    paths: list[Path]

    def write(self, records: Sequence[Record]) -> None:
        """Take further records."""

    def close(self) -> dict[str, int]:
        """Finish the files; returns how many events of each category they hold."""

    def abandon(self) -> None:
        """Leave nothing behind."""


# Makes the writer of one rank: job, rank, and the path without rank.
MakeWriter = Callable[[SimJob, int, Path], Writer]
