"""A report: everything that is to be said about a trace, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.place import Place
from stepscope.model.program import Program
from stepscope.model.recording import Recording
from stepscope.model.suggest import choose
from stepscope.model.table import Table
from stepscope.reports.health import Abstention, HealthLine
from stepscope.reports.selection import Selection
from stepscope.rules.diagnosis import Diagnosis
from stepscope.rules.finding import Finding

SCHEMA: Final = "stepscope.report/1"


@dataclass(frozen=True, slots=True)
class RankLine:
    """A device of a rank.

    `device` is None for a rank without device activity; `name` is that of a device that its recording names, if any.
    """

    rank: int
    device: int | None
    name: str | None
    world_size: int | None


@dataclass(frozen=True, slots=True)
class Contents:
    """Results of a trace that sections of a page are made of.

    Attributes:
        sources: The recording of each rank.
        health: What is wrong with the input or missing from it; errors first.
        ranks: One line per rank and device used.
        tables: Results by name, over all ranks, in the order of the registry. Those that could not be computed
            are there without rows.
        abstentions: Why tables could not be computed.
        diagnosis: What the rules say; None where only some tables were asked for.
        all_findings: Whether findings that cost next to nothing are to be shown too.
        selection: What the report is limited to.
        programs: What each rank ran; a rank of which nothing could be told is missing.
        places: Every recording of the input with its run, rank and span.
    """

    sources: Mapping[int, Recording]
    health: tuple[HealthLine, ...]
    ranks: tuple[RankLine, ...]
    tables: Mapping[str, Table]
    abstentions: tuple[Abstention, ...] = ()
    diagnosis: Diagnosis | None = None
    all_findings: bool = False
    selection: Selection = field(default_factory=Selection)
    programs: Mapping[int, Program] = field(default_factory=dict)
    places: tuple[Place, ...] = ()

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table by column; none if the table was not asked for."""
        return self.tables[table].records() if table in self.tables else []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, ranked by the time they cost."""
        return self.diagnosis.findings if self.diagnosis else ()

    def table(self, name: str) -> Table:
        """One of the tables.

        Raises:
            UserError: The report has no such table.
        """
        if name not in self.tables:
            raise UserError(said("the report has no table called {name!r}", name=name), hint=choose(name, self.tables))
        return self.tables[name]

    def computed(self, name: str) -> bool:
        """Whether the table was computed for at least one rank."""
        return name in self.tables and not any(a.table == name and not a.partly for a in self.abstentions)
