"""The sections of a report's page, in the order in which a performance engineer asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stepscope.reports.blocks import Section
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import budget
from stepscope.reports.sections.efficiency import efficiency
from stepscope.reports.sections.figures import figures
from stepscope.reports.sections.findings import findings
from stepscope.reports.sections.head import facts, title
from stepscope.reports.sections.health import health, missing
from stepscope.reports.sections.idle import idle
from stepscope.reports.sections.job import job
from stepscope.reports.sections.phases import phases
from stepscope.reports.sections.serving import serving
from stepscope.reports.sections.slowest import slowest
from stepscope.reports.sections.snapshot import is_snapshot
from stepscope.reports.sections.tables import besides, chosen, memory, ran

#: Makes a section from the report and the number of rows to show; a section without blocks is left out.
Build = Callable[[Contents, int], Section]

_WHOLE: Final[tuple[Build, ...]] = (
    slowest,
    health,
    findings,
    budget,
    job,
    phases,
    serving,
    idle,
    ran,
    efficiency,
    besides,
    memory,
    missing,
)
_SNAPSHOT: Final[tuple[Build, ...]] = (health, findings, memory, ran, missing)
_CHOSEN: Final[tuple[Build, ...]] = (health, chosen, missing)


def sections(report: Contents) -> tuple[Build, ...]:
    """The sections that suit a report: of everything, or of a few tables that were asked for."""
    if report.selection.tables:
        return _CHOSEN
    return _SNAPSHOT if is_snapshot(report) else _WHOLE


__all__ = ["facts", "figures", "sections", "title"]
