"""The folder a rank's files are written to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO


@dataclass(slots=True)
class Output:
    """Opens files in a folder, and closes all of them together."""

    folder: Path
    files: list[TextIO] = field(default_factory=list)

    def open(self, name: str) -> TextIO:
        """A new file, in which lines end as they are written."""
        file = (self.folder / name).open("w", encoding="utf-8", newline="")
        self.files.append(file)
        return file

    def write(self, name: str, text: str) -> None:
        """Write a whole file."""
        (self.folder / name).write_text(text, encoding="utf-8", newline="")

    def close(self) -> None:
        """Close every file."""
        for file in self.files:
            file.close()
