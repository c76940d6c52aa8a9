"""The same job, as each export at each level and from some of its ranks, is answered as the documentation says."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from bench.ascend_matrix.cells import EXPORTS, LEVELS, NAMES, SUBSETS, Cell, answer
from bench.ascend_matrix.table import faults, row

from series import WHOLE, series

PAGE: Final = Path(__file__).parents[1] / "docs" / "ascend-matrix.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What is written and read once for all."""
    return tmp_path_factory.mktemp("matrix")


@pytest.mark.parametrize("level", series((0, 1, 2, -1), 1))
def test_one_of_eight_is_answered_as_documented(level, folder):
    """The names of both releases in the whole series, those of the older one otherwise."""
    names = NAMES if WHOLE else NAMES[:1]
    cells = [Cell(level, export, cann, "one of eight") for export in EXPORTS for cann in names]
    answers = {cell: answer(cell, folder) for cell in cells}
    assert list(faults(answers)) == []
    found = [answers[Cell(level, export, NAMES[0], "one of eight")] for export in EXPORTS]
    assert row(level, "one of eight", found) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("subset", series(("two of eight", "all"), 0))
def test_more_of_eight_are_answered_as_documented(subset, folder):
    found = [answer(Cell(1, export, NAMES[0], subset), folder) for export in EXPORTS]
    assert found[0] == found[1]
    assert row(1, subset, found) in PAGE.read_text(encoding="utf-8")


def test_the_page_has_a_row_for_every_level_and_subset():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith(tuple(f"| {level} |" for level in ("none", 0, 1, 2)))]
    assert len(rows) == len(LEVELS) * len(SUBSETS)
