"""A recording of an input before its rank is decided: metadata, path, store and times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stepscope.model.recording import Recording


@dataclass(frozen=True, slots=True)
class FoundRecordings:
    """A recording, before its rank is known.

    Attributes:
        recording: Its metadata.
        path: The file or folder; a name inside an archive follows the archive's.
        store: Folder of its store.
        timed: Whether it holds durations of work, not only memory contents.
        between: Reads the Unix times of its first and last event, in ns; None if they are unknown.
        companion: Whether it only adds to a recording.
    """

    recording: Recording
    path: Path
    store: Path
    timed: bool = True
    between: Callable[[], tuple[int, int] | None] = lambda: None
    companion: bool = False

    @property
    def only_part(self) -> bool:
        """Whether it is one of several processes in one file."""
        return bool(self.recording.part or self.recording.parts)
