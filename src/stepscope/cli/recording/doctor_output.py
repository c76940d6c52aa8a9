"""What the checks say, as text of a fixed width and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Final

from stepscope.doctor.check import LEVELS
from stepscope.doctor.examine import CHECKS, Findings
from stepscope.language import listing, pattern, said, spoken, told
from stepscope.language.part_words import in_words
from stepscope.reports.text import visible

#: Where texts begin, behind the level.
_INDENT: Final = 9
SCHEMA: Final = "stepscope.doctor/1"
_COUNTS: Final = {
    "error": pattern("{count} error"), "warning": pattern("{count} warning"), "info": pattern("{count} info"),
}  # fmt: skip


def text(findings: Findings, width: int = 100) -> str:
    """The advice, the most serious first, and which checks could not be made.

    Args:
        findings: What the checks say.
        width: Cells of a line.
    """
    return "".join(f"{line}\n" for line in _lines(findings, width))


def _lines(findings: Findings, width: int) -> Iterator[str]:
    counts = {level: sum(one.level == level for _, one in findings.advice) for level in LEVELS}
    levels = (said(_COUNTS[level], count=count) for level, count in counts.items() if count)
    found = listing(levels) or said("nothing to change")
    yield told(
        said(
            "{found}; {fine} of {checks} checks found nothing, {unknown} lacked facts", found=found,
            fine=len(findings.fine), checks=len(CHECKS), unknown=len(findings.unknown),
        )
    )  # fmt: skip
    for _, one in findings.advice:
        yield ""
        yield from _wrapped(one.what, width, _head(in_words(one.level)))
        yield from _wrapped(one.why, width, " " * _INDENT)
        yield from _wrapped(one.change, width, " " * (_INDENT - 2) + "→ ")
    if findings.unknown:
        yield ""
        yield from _wrapped(", ".join(one.name for one in findings.unknown), width, _head(in_words("unknown")))


def _head(word: str) -> str:
    from rich.cells import set_cell_size

    return set_cell_size(told(word), _INDENT)


def _wrapped(text: str, width: int, start: str) -> list[str]:
    """Lines of at most so many cells; texts in Chinese have no spaces, and characters of two cells."""
    shown = told(visible(text))
    if spoken() == "en":
        return textwrap.wrap(
            shown, width, initial_indent=start, subsequent_indent=" " * _INDENT, break_on_hyphens=False
        )
    from rich.text import Text

    from stepscope.reports.lines.wrapping import wrapped

    lines = wrapped(Text(shown), width - _INDENT)
    return [(start if at == 0 else " " * _INDENT) + line.plain for at, line in enumerate(lines)]


def json(findings: Findings) -> dict[str, Any]:
    """The same as values of JSON."""
    return {
        "schema": SCHEMA,
        "advice": [
            {"check": made.name, "level": one.level, "what": one.what, "why": one.why, "change": one.change}
            for made, one in findings.advice
        ],
        "fine": [one.name for one in findings.fine],
        "unknown": [one.name for one in findings.unknown],
    }
