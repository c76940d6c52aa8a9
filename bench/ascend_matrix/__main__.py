"""`python -m bench.ascend_matrix`: one job as every Ascend export, as the table of `docs/ascend-matrix.md`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.ascend_matrix.cells import answer, cells
from bench.ascend_matrix.table import faults, rows


def main() -> None:
    """Read every cell and print the table; exit with 1 if an answer differs without a reason."""
    parser = argparse.ArgumentParser(prog="python -m bench.ascend_matrix", description=__doc__)
    parser.add_argument("--folder", type=Path, help="keeps what is written and read; a temporary one if absent")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        answers = {cell: answer(cell, folder) for cell in cells()}
    print("\n".join(rows(answers)))
    wrong = list(faults(answers))
    print("\n".join(wrong))
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
