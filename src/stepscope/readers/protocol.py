"""What a reader is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from stepscope.model.recording import Recording
from stepscope.store.staging import Staging

#: How sure a reader is that a file is its own, from its first bytes: no, possibly, certainly.
NO: Final = 0
MAYBE: Final = 1
YES: Final = 2

#: Called with the number of bytes of the input consumed since the last call.
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Source:
    """A recording to be read: one file, or one folder that belongs together.

    Attributes:
        path: File or folder.
        member: Name inside an archive, for a recording that lies in one; else empty.
        part: Which of several recordings in it, for all but the first: one of the first's `Recording.parts`.
    """

    path: Path
    member: str = ""
    part: str = ""

    def __str__(self) -> str:
        whole = f"{self.path}!{self.member}" if self.member else str(self.path)
        return f"{whole} ({self.part})" if self.part else whole


class Reader(Protocol):
    """Reads one kind of recording.

    `version` is part of the cache key: raise it whenever the same input gives other tables.
    """

    @property
    def name(self) -> str:
        """Short and stable, as in `kineto`."""
        ...

    @property
    def version(self) -> int:
        """Of what it makes of its inputs."""
        ...

    def sniff(self, path: Path, head: bytes) -> int:
        """NO, MAYBE or YES from a path and the first (decompressed) bytes of a file; b"" for a folder."""
        ...

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Put everything that is recorded into the staging area.

        Raises:
            UnusableInputError: Nothing in the input can be used.
        """
        ...
