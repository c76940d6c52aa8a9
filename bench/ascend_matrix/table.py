"""The answers as a table of the documentation, and the reasons for those that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from bench.ascend_matrix.cells import EXPORTS, LEVELS, NAMES, SUBSETS, Cell, MatrixAnswer
from stepscope.model.amounts import duration

#: Why the database of a level is answered otherwise than its text; no other level may be.
DIFFERENT: Final[Mapping[int, str]] = {
    0: (
        "a database has the calls of CANN and the sizes of collectives at level 0, text has neither: what a price "
        "rests on is known better"
    ),
    2: "hit rates of the L2 cache are a file of the text export alone: KRN022 judges by them, and KRN015 speaks else",
}


def rows(answers: Mapping[Cell, MatrixAnswer]) -> Iterator[str]:
    """Lines of the table."""
    yield "| level | ranks read | steps | kernels | one step of the first rank | findings in text | in databases |"
    yield "|---|---|---|---|---|---|---|"
    for level in LEVELS:
        for subset in SUBSETS:
            found = [answers[Cell(level, export, NAMES[0], subset)] for export in EXPORTS]
            yield row(level, subset, found)


def row(level: int, subset: str, found: list[MatrixAnswer]) -> str:
    """One line, from the answers to text and to a database."""
    text, database = found
    cell = Cell(level, "", "", subset)
    _, _, total, compute, comm, copy, idle = text.steps[-len(text.steps) // SUBSETS[subset]]
    whole = f"{duration(total)}: " if total else ""
    parts = ((compute, "compute"), (comm, "exposed communication"), (copy, "copies"), (idle, "idle"))
    split = ", ".join(f"{duration(spent)} {name}" for spent, name in parts if spent)
    counted = sum(int(str(kernel[3])) for kernel in text.kernels)
    other = "the same" if database.findings == text.findings else _listed(database)
    return (
        f"| {cell.names} | {subset} | {len(text.steps)} | {counted:,} | {whole}{split or 'no device is recorded'} | "
        f"{_listed(text)} | {other} |"
    )


def _listed(answer: MatrixAnswer) -> str:
    return ", ".join(f"{code} {duration(cost)}" if cost else code for code, cost in answer.findings) or "none"


def faults(answers: Mapping[Cell, MatrixAnswer]) -> Iterator[str]:
    """What is answered differently without a reason, and reasons for what is not different."""
    for cell, found in answers.items():
        old = answers.get(Cell(cell.level, cell.export, NAMES[0], cell.subset), found)
        if found != old:
            yield f"{cell} is not answered as with the names of CANN {NAMES[0]}"
        text = answers.get(Cell(cell.level, "ascend", NAMES[0], cell.subset), found)
        if (found.steps, found.kernels) != (text.steps, text.kernels):
            yield f"{cell} has other steps or kernels than its text"
        if found.findings != text.findings and cell.level not in DIFFERENT:
            yield f"{cell} has other findings than its text, for no reason that is known"
    for level, reason in DIFFERENT.items():
        mine = {(cell.export, found.findings) for cell, found in answers.items() if cell.level == level}
        if len({export for export, _ in mine}) > 1 and len({findings for _, findings in mine}) == 1:
            yield f"level {level} is answered alike, though {reason}"
