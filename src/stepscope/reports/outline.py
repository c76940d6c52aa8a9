"""What a page of a report shows: the sections that suit it, as blocks."""

from __future__ import annotations

from stepscope.reports.blocks import Outline
from stepscope.reports.contents import Contents
from stepscope.reports.sections import facts, figures, sections, title


def outline(report: Contents, top: int = 10) -> Outline:
    """The page for a report, with at most `top` rows in each table."""
    made = [build(report, top) for build in sections(report)]
    shown = tuple(section for section in made if section.blocks)
    return Outline(title(report), facts(report), shown, figures(report))
