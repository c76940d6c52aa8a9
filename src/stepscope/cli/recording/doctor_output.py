"""What the checks say, as text of a fixed width and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Final

from stepscope.doctor.check import LEVELS
from stepscope.doctor.examine import CHECKS, Findings
from stepscope.reports.text import visible

#: Where texts begin, behind the level.
_INDENT: Final = 9
SCHEMA: Final = "stepscope.doctor/1"


def text(findings: Findings, width: int = 100) -> str:
    """The advice, the most serious first, and which checks could not be made.

    Args:
        findings: What the checks say.
        width: Characters of a line.
    """
    return "".join(f"{line}\n" for line in _lines(findings, width))


def _lines(findings: Findings, width: int) -> Iterator[str]:
    counts = {level: sum(one.level == level for _, one in findings.advice) for level in LEVELS}
    found = ", ".join(f"{count} {level}" for level, count in counts.items() if count) or "nothing to change"
    yield f"{found}; {len(findings.fine)} of {len(CHECKS)} checks found nothing, {len(findings.unknown)} lacked facts"
    for _, one in findings.advice:
        yield ""
        yield from _wrapped(one.what, width, f"{one.level:<{_INDENT}}")
        yield from _wrapped(one.why, width, " " * _INDENT)
        yield from _wrapped(one.change, width, " " * (_INDENT - 2) + "→ ")
    if findings.unknown:
        yield ""
        yield from _wrapped(", ".join(one.name for one in findings.unknown), width, f"{'unknown':<{_INDENT}}")


def _wrapped(text: str, width: int, start: str) -> list[str]:
    return textwrap.wrap(
        visible(text), width, initial_indent=start, subsequent_indent=" " * _INDENT, break_on_hyphens=False
    )


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
