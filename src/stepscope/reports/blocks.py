"""Blocks of a report's page, before an output decides how they look.

An outline is a list of sections; a section is a list of blocks of four kinds. All text is ready to be shown, except for
what an output must escape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeVar

from stepscope.language import Said, recalled, said, spoken, told

#: The parts of a budget, in the order of the table's columns, with their names.
PARTS: Final = (
    ("compute", said("compute")),
    ("exposed_comm", said("exposed communication")),
    ("exposed_copy", said("exposed copy")),
    ("idle", said("idle")),
)
_Cell = TypeVar("_Cell", str, str | float)


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a column.

    Attributes:
        text: The heading, unit included.
        number: Whether the column holds numbers, which are aligned to the right.
        rank: How soon the column is left out where there is too little room; 0 is never.
        bar: Whether the column holds shares (of 1) to be drawn as bars.
    """

    text: str
    number: bool = True
    rank: int = 0
    bar: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A table to be looked at.

    Attributes:
        headings: One per column; the first is the one that gets all remaining room.
        rows: Cells as text; in a column of bars, numbers.
        caption: What it shows.
        hidden: Number of rows that are not shown.
        table: Table of the report that has all of it.
        whole: Whether all columns were asked for, so that those left out must be named.
    """

    headings: tuple[Heading, ...]
    rows: tuple[tuple[str | float, ...], ...]
    caption: str = ""
    hidden: int = 0
    table: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One step's budget: a label, its parts in ns, as in `PARTS`, whether it is the mean of steps, and where they are.

    `rank` is None where they are of several ranks, `step` where they are several.
    """

    label: str
    total: int
    parts: tuple[int, ...]
    mean: bool = False
    rank: int | None = None
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Budgets as stacked bars to one scale."""

    rows: tuple[Bar, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A remark with a tone: error, warning, info or plain."""

    text: str
    detail: str = ""
    tone: str = "plain"


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something to change: what, the code before and after, and the remedy that tells more (empty for none)."""

    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    page: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A finding.

    Attributes:
        number: Its place in the ranking; 0 where it stands alone.
        code: Code of the rule.
        title: What is wrong.
        worth: Its price, or that it is advice.
        text: What was seen.
        remedies: What to do, the most promising first.
        inspect: Command that looks closer; empty if there is none.
        also: What it is the cause of.
        page: The rule's documentation.
        tone: As of a line.
    """

    number: int
    code: str
    title: str
    worth: str
    text: str
    remedies: tuple[Remedy, ...] = ()
    inspect: str = ""
    also: tuple[str, ...] = ()
    page: str = ""
    tone: str = "plain"


Block = Grid | Bars | Line | Item


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of the page; `aside` says what its numbers are about."""

    title: str
    blocks: tuple[Block, ...]
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in the page's head, with its subject and an explanation."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """A whole page; outputs that have no room for figures leave them out, since sections say the same."""

    title: str
    facts: tuple[str, ...]
    sections: tuple[Section, ...]
    figures: tuple[Figure, ...] = ()

    def told(self) -> Outline:
        """The page in the language that is spoken; cells of tables and names as they are."""
        if spoken() == "en":
            return self
        sections = tuple(
            Section(told(one.title), tuple(_told(block) for block in one.blocks), told(one.aside))
            for one in self.sections
        )
        figures = tuple(Figure(told(one.label), told(one.value), told(one.detail)) for one in self.figures)
        return Outline(told(self.title), tuple(map(told, self.facts)), sections, figures)


def _told(block: Block) -> Block:
    if isinstance(block, Line):
        # What readers saw of a recording comes from its store.
        return Line(told(recalled(block.text)), told(recalled(block.detail)), block.tone)
    if isinstance(block, Item):
        remedies = tuple(replace(one, text=told(one.text)) for one in block.remedies)
        return replace(
            block, title=told(block.title), worth=told(block.worth), text=told(block.text), remedies=remedies,
            also=tuple(map(told, block.also)),
        )  # fmt: skip
    if isinstance(block, Bars):
        return Bars(tuple(replace(row, label=_cell(row.label)) for row in block.rows), told(block.note))
    headings = tuple(replace(one, text=_cell(one.text)) for one in block.headings)
    rows = tuple(tuple(_cell(cell) for cell in row) for row in block.rows)
    return replace(block, headings=headings, rows=rows, caption=told(block.caption))


def _cell(cell: _Cell) -> _Cell:
    """What was said in a table is told; names of columns, kernels and the like stay."""
    return told(cell) if isinstance(cell, Said) else cell
