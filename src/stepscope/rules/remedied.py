"""What a remedy changes in a recording: the findings that it mends, one by one and together."""

from __future__ import annotations

from functools import reduce
from operator import add

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.events.change import Change
from stepscope.model.suggest import choose
from stepscope.model.trace import Trace
from stepscope.rules import remedies
from stepscope.rules.engine import Diagnosing


def remedied(rank: Trace, remedy: str) -> list[tuple[str, Change]]:
    """What changes in the steps of a rank, for each finding that the remedy mends, and for all of them.

    Args:
        rank: The trace of one rank.
        remedy: Name of a page on remedies, such as `torch-compile`.

    Raises:
        UserError: There is no such remedy, or it mends nothing in this recording whose saving a graph can tell.
    """
    known = remedies.names()
    if remedy not in known:
        raise UserError(said("no remedy is called {remedy!r}", remedy=remedy), hint=choose(remedy, known))
    diagnosing = Diagnosing()
    diagnosing.look_at(rank)
    found: list[tuple[str, Change]] = [
        (said("{code} {title}", code=code, title=title), change) for code, title, change in diagnosing.changes(remedy)
    ]
    if not found:
        raise UserError(
            said("no finding of this recording says what {remedy} would save", remedy=remedy),
            hint=said(
                "see the findings of `stepscope analyze`, `stepscope rules {remedy}`, or give --scale or --remove",
                remedy=remedy,
            ),
        )
    together: list[tuple[str, Change]]
    together = [(said("all of these"), reduce(add, (change for _, change in found)))] if len(found) > 1 else []
    return found + together
