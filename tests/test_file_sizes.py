"""Files stay small: one idea each; and folders: one topic each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parents[1]
#: Lines of the longest file, and what half and nine of ten files have at most; `docs/architecture.md` names them.
LONGEST, MEDIAN, MOST = 350, 84, 170
#: No folder holds more.
MOST_FILES = 25


def test_files_are_small() -> None:
    lengths = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "src").rglob("*.py")
    }
    assert {str(path): number for path, number in lengths.items() if number > LONGEST} == {}
    assert median(lengths.values()) <= MEDIAN
    assert quantiles(lengths.values(), n=10)[-1] <= MOST


def test_the_documentation_names_these_limits() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"| 84, 170, 397 | at most {MEDIAN}, {MOST}, {LONGEST} | `tests/test_file_sizes.py` |" in text
    assert f"| 56 | at most {MOST_FILES} | `tests/test_file_sizes.py` |" in text


def test_folders_are_small() -> None:
    """More files than this no listing explains."""
    folders = Counter(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.py"))
    assert {folder: number for folder, number in folders.items() if number > MOST_FILES} == {}
