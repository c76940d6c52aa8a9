"""The words of the field, and no others: code, documentation and output use no retired word.

`docs/glossary.md` says what the terms mean. A word is looked for in names of files, identifiers, docstrings, comments,
messages, documentation and a page of the report.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stepscope.demo import recording
from stepscope.ingest import Options, open_trace
from stepscope.reports import terminal
from stepscope.reports.build import build_report

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "bench", "docs")
SUFFIXES = {".py", ".md", ".css", ".js"}


@dataclass(frozen=True, slots=True)
class Retired:
    """A word that is not used.

    Attributes:
        pattern: Where it stands, whatever the case.
        instead: What to say.
        allowed: Uses that mean something else, as patterns around the word; each with its reason.
    """

    pattern: str
    instead: str
    allowed: tuple[tuple[str, str], ...] = ()

    def found(self, text: str) -> Iterator[str]:
        """The lines that use it."""
        fine = [re.compile(pattern, re.IGNORECASE) for pattern, _ in self.allowed]
        for match in re.finditer(self.pattern, text, re.IGNORECASE):
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.end())
            line = text[start : end if end >= 0 else len(text)]
            at = match.start() - start
            if not any(one.start() <= at < one.end() for pattern in fine for one in pattern.finditer(line)):
                yield line.strip()


def word(text: str) -> str:
    """A pattern for a word that may be part of an identifier, `snake_case` or `CamelCase`."""
    return rf"(?<![a-z]){text}(?![a-z])"


RETIRED = (
    Retired(r"matrix[ _]units?", "tensor cores"),
    Retired(r"matrix[ _]products?", "GEMMs, matrix multiplications"),
    Retired(r"in the mean\b", "on average"),
    Retired(r"pieces of odd sizes", "unaligned sizes"),
)


def lines(one: Retired) -> Iterator[str]:
    """Every use of the word in the project."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES or path == Path(__file__).resolve():
                continue
            name = path.relative_to(ROOT)
            yield from (f"{name}: in its name" for _ in one.found(name.as_posix()))
            yield from (f"{name}: {line}" for line in one.found(path.read_text(encoding="utf-8")))
    yield from (f"README.md: {line}" for line in one.found((ROOT / "README.md").read_text(encoding="utf-8")))


@pytest.mark.parametrize("retired", RETIRED, ids=lambda one: one.instead)
def test_no_retired_word_is_used(retired: Retired) -> None:
    used = list(lines(retired))
    assert not used, f"say “{retired.instead}”:\n" + "\n".join(used[:40])


def test_a_page_of_the_report_uses_no_retired_word() -> None:
    with recording() as path, open_trace(path, Options(cache=False)) as trace:
        page = io.StringIO()
        terminal.write(build_report(trace), page, top=50, width=120)
    assert [line for one in RETIRED for line in one.found(page.getvalue())] == []


def test_allowed_uses_are_told_apart() -> None:
    retired = Retired(word("arrows?"), "flow", ((r"\.arrow\b", "Apache Arrow"),))
    assert list(retired.found("table.arrow\nthe arrow of table.arrow\nArrows\nnarrow")) == [
        "the arrow of table.arrow",
        "Arrows",
    ]
    assert list(Retired(word("begins?"), "start").found("_begins_at\nbeginning")) == ["_begins_at"]


def test_the_glossary_explains_price() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert "| price | estimated saving" in text
