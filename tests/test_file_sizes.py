"""Files stay small: one idea each; and folders: one topic each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
#: No file is longer, and half of them are shorter than the second number.
LONGEST = 400
MEDIAN = 130
#: No folder holds more.
MOST_FILES = 25


def test_files_are_small() -> None:
    lengths = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "src").rglob("*.py")
    }
    assert {str(path): number for path, number in lengths.items() if number > LONGEST} == {}
    assert median(lengths.values()) <= MEDIAN


def test_folders_are_small() -> None:
    """More files than this no listing explains; Kineto's reader is to be replaced as a whole."""
    folders = Counter(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.py"))
    too_many = {folder: number for folder, number in folders.items() if number > MOST_FILES}
    assert set(too_many) <= {"src/stepscope/readers/kineto"}
