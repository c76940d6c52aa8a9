"""Files stay small: one idea each."""

from __future__ import annotations

from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
#: No file is longer, and half of them are shorter than the second number.
LONGEST = 400
MEDIAN = 130


def test_files_are_small() -> None:
    lengths = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "src").rglob("*.py")
    }
    assert {str(path): number for path, number in lengths.items() if number > LONGEST} == {}
    assert median(lengths.values()) <= MEDIAN
