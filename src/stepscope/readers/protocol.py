"""The interface of readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from stepscope.model.recording import Recording
from stepscope.model.sums.rank import Glance, RankSummaries
from stepscope.store.staging import Staging

#: Results of `sniff`: a file is certainly not, possibly or certainly of a reader's kind.
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
        member: Name inside an archive; empty if not in one.
        part: Which of several recordings in a file, one of the first one's `Recording.parts`; empty for the first.
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
        """Short and stable name, such as `kineto`."""
        ...

    @property
    def version(self) -> int:
        """Version of the tables it makes of an input."""
        ...

    def sniff(self, path: Path, head: bytes) -> int:
        """NO, MAYBE or YES from a path and the first (decompressed) bytes of a file; b"" for a folder."""
        ...

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Read a recording into the staging area.

        Raises:
            UnusableInputError: Nothing in the input can be used.
        """
        ...


@runtime_checkable
class SummaryReader(Protocol):
    """What a reader has besides whose recordings hold the profiler's sums in files of their own."""

    def glance(self, source: Source) -> Glance | None:
        """Whose recording it is and when it was made; None where only reading it as a whole tells."""
        ...

    def summaries(self, source: Source) -> RankSummaries:
        """The sums of a recording that `glance` knows, without its events.

        Raises:
            UnusableInputError: They can't be read alone: a file that they come from is not whole.
        """
        ...
