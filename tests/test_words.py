"""The words of the field, and no others: code, documentation and output use no retired word.

`docs/glossary.md` says what the terms mean. A word is looked for in names of files, identifiers, docstrings, comments,
messages, documentation and a page of the report.
"""

from __future__ import annotations

import ast
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
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
    Retired(
        r"multiprocessors?",
        "SMs",
        (
            (r"streaming multiprocessor", "NVIDIA's name, which the glossary explains"),
            (r"\w+Multiprocessors?\w*", "fields of recordings, and a function of CUDA"),
        ),
    ),
    Retired(
        word("products?"),
        "GEMMs, matrix multiplications",
        (
            (
                r"(scaled_)?dot_product|dot products?|dot_\(\?:kernel\|product\)|dot_\(kernel\|product\)",
                "names of functions",
            ),
            (r"EXPORT_PRODUCT\w*|PRODUCT_VERSION", "columns of Nsight Systems' exports"),
            (r"list_product|, 'product'", "functions of DuckDB"),
            (
                r"products? of (the |a )?(dimensions|factors|thousand|numbers)|two products",
                "of numbers, not of matrices",
            ),
        ),
    ),
    Retired(
        r"\b(copies|copy|copied|kernels|compute|collectives)( or| and|,) sets?\b"
        r"|\bsets of memory\b|synchronous[-_]sets?",
        "memsets",
        ((r"copy, set(, (sync|gc)\b| \(memset\)| or sync)", "the published values of a category and a kind"),),
    ),
    Retired(
        r"\b(?<![.])arrows\b|_arrows\b|\barrows_|\b(an?|the|half) arrow\b|\barrow (goes|binds)",
        "flow",
        ((r"(an|the) Arrow (table|stream|string|array|schema)", "Apache Arrow"),),
    ),
    Retired(
        r"\b(the|a|its|their|each|first|of|to|by|from|equal|\w+'s) begins?\b"
        r"(?! (with|in|at|as|when|where|before|after)\b)|\bbegins? (of|on the (host|queue|device))\b|\"Begin\.",
        "start",
        ((r"to begin\b(?! of)", "the verb"),),
    ),
    Retired(r"told from|telling .* apart from", "distinguished from"),
    Retired(word("pieces?"), "parts, segments, tiles, ranges, tasks"),
    Retired(r"ranks?\b.{0,20} in front\b", "the first rank"),
    Retired(r"in the mean\b(?! (typical )?step)", "on average"),
)

#: Names of modules, classes, functions, attributes and variables that say nothing, with what to name them after.
NAMES = {
    "begin": "the start",
    "piece": "the part, segment, tile, range or task",
    "product": "the GEMM",
    "multiprocessor": "the SM",
    "telling": "what it tells",
    "calling": "what is called",
    "filling": "what is filled",
    "copying": "what is copied",
    "loading": "what is loaded",
    "observing": "what is measured",
    "intake": "the input",
    "meaning": "the kind, the description",
    "detached": "what it is apart from",
    "observed": "what was measured",
    "checked": "what was checked",
    "known_name": "what is named",
    "name_class": "what is classified",
}
#: The same of modules, classes and functions only: a variable may hold a stack's frames, or a number's sign.
NAMES_OF_DEFINITIONS = {
    "frames": "what the frames are of",
    "signs": "what they are signs of",
    "arrows": "the flows",
    "sets": "the memsets",
}


def files(folder: str, pattern: str) -> list[Path]:
    """The project's files in a folder; what benchmarks left in `bench/out`, other tools among it, is none of them."""
    found = sorted((ROOT / folder).rglob(pattern))
    return [path for path in found if path.relative_to(ROOT).parts[:2] != ("bench", "out")]


@cache
def texts() -> dict[str, str]:
    """The project's texts but this one, by their names."""
    paths = [path for folder in FOLDERS for path in files(folder, "*") if path.suffix in SUFFIXES]
    here = Path(__file__).resolve()
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in (*paths, ROOT / "README.md") if path != here
    }  # fmt: skip


def lines(one: Retired) -> Iterator[str]:
    """Every use of the word in the project."""
    for name, text in texts().items():
        yield from (f"{name}: in its name" for _ in one.found(name))
        yield from (f"{name}: {line}" for line in one.found(text))


@pytest.mark.parametrize("retired", RETIRED, ids=lambda one: one.instead)
def test_no_retired_word_is_used(retired: Retired) -> None:
    used = list(lines(retired))
    assert not used, f"say “{retired.instead}”:\n" + "\n".join(used[:40])


def identifiers(path: Path, text: str) -> Iterator[tuple[str, bool]]:
    """Names that a file gives: each with whether it is the file's, a class's or a function's."""
    yield path.stem, True
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, True
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, False
            case _:
                pass


def test_names_say_what_they_are_of() -> None:
    used = []
    all_names = NAMES | NAMES_OF_DEFINITIONS
    # To look for the words takes a tenth of the time of reading the code.
    any_of_them = re.compile(rf"(?<![a-z])_*({'|'.join(all_names)})s?_*(?![a-z_0-9])", re.IGNORECASE)
    for path in sorted(path for folder in ("src", "tests", "bench") for path in files(folder, "*.py")):
        text = path.read_text(encoding="utf-8")
        if not any_of_them.search(f"{path.stem}\n{text}"):
            continue
        for name, defines in identifiers(path, text):
            word = name.strip("_").lower()
            for one in {word, word.removesuffix("s")} & (all_names if defines else NAMES).keys():
                used.append(f"{path.relative_to(ROOT)}: {name}: name {all_names[one]}")
    assert not used, "\n".join(used)


def test_a_class_has_its_name_for_itself() -> None:
    found = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found[name].append(path.relative_to(ROOT).as_posix())
    twice = {name: paths for name, paths in found.items() if len(paths) > 1}
    # What `import stepscope` offers wraps the trace that all else works on.
    assert twice == {"Trace": ["src/stepscope/api.py", "src/stepscope/model/trace.py"]}


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
