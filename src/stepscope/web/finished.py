"""A finished report as the page asks for it: made in this process, or kept beside the store by an earlier one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from stepscope.language import said, speaking, spoken
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.web.answers import encoded

if TYPE_CHECKING:
    from stepscope.reports.report import Report

_HEAD: Final = "report"
_TABLE: Final = "table "
#: A large report is made again rather than kept, bytes.
_MOST: Final = 64 << 20
#: Lines of health on what may succeed the next time.
_FAILED: Final = frozenset({"analysis-failed", "rank-failed"})


class Finished:
    """Answers about a report, as JSON.

    Args:
        answer: The one of a name: `report`, or `table NAME`.
        tables: Names of its tables.
    """

    def __init__(self, answer: Callable[[str], bytes], tables: tuple[str, ...]) -> None:
        self._answer, self.tables = answer, tables

    @classmethod
    def of(cls, report: Report) -> Finished:
        """The answers about a report, each made when it is asked for, in the language that is spoken now."""
        from stepscope.web.document import head, shown_table  # takes longer to import than a kept report to answer

        language = spoken()

        @lru_cache(maxsize=1)
        def first() -> bytes:
            return encoded(head(report))

        def answer(name: str) -> bytes:
            with speaking(language):
                return first() if name == _HEAD else encoded(shown_table(report, name.removeprefix(_TABLE)))

        return cls(answer, tuple(report.tables))

    @classmethod
    def from_answers(cls, answers: Mapping[str, Any]) -> Finished | None:
        """The inverse of `answers`; None if the report itself is missing."""
        if _HEAD not in answers:
            return None
        tables = tuple(name.removeprefix(_TABLE) for name in answers if name.startswith(_TABLE))
        return cls(lambda name: bytes(answers[name]), tables)

    def answers(self) -> Iterator[tuple[str, bytes]]:
        """Every answer with its name."""
        yield _HEAD, self.head()
        for name in self.tables:
            yield _TABLE + name, self.table(name)

    def head(self) -> bytes:
        """What stands above the tables."""
        return self._answer(_HEAD)

    def table(self, name: str) -> bytes:
        """One table.

        Raises:
            UserError: The report has no such table.
        """
        if name not in self.tables:
            raise UserError(said("the report has no table called {name!r}", name=name), hint=choose(name, self.tables))
        return self._answer(_TABLE + name)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table by column; none if the report has no such table."""
        if name not in self.tables:
            return []
        found = json.loads(self.table(name))
        columns = [column["name"] for column in found["columns"]]
        return [dict(zip(columns, row, strict=True)) for row in found["rows"]]


def answers_to_keep(report: Report, finished: Finished) -> dict[str, bytes] | None:
    """Every answer; None where the report is not to be kept: something failed in it, or it is too large."""
    unasked = report.diagnosis.unasked if report.diagnosis is not None else ()
    if any(line.code in _FAILED for line in report.health) or any(one.failed for one in unasked):
        return None
    found: dict[str, bytes] = {}
    left = _MOST
    for name, answer in finished.answers():
        left -= len(answer)
        if left < 0:
            return None
        found[name] = answer
    return found
