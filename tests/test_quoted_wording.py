"""What findings say may be reworded: only tests of wording, which are named so, quote a summary or a title."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
#: What a reader sees of a finding, and rules may put in other words.
WORDED = {"summary", "title"}
#: Words of a language: no figures with a unit, and no names of files, functions and operators.
WORDS = re.compile(r"(?<![\w.:/(-])[A-Za-z]{2,}(?:'[a-z]+)?[ -][a-z]{2,}(?![\w.:/(])")


def quotes(source: str) -> list[str]:
    """Words that tests of a file compare with a summary or a title, except in tests of wording."""
    return [
        text
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_")
        if "wording" not in function.name
        for text in _compared(function)
        if WORDS.search(text)
    ]


def _compared(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
            if any(isinstance(part, ast.Attribute) and part.attr in WORDED for part in parts):
                yield from _texts(parts)
                names = {part.id for part in parts if isinstance(part, ast.Name)}
                yield from _parameters(function, names)


def _parameters(function: ast.FunctionDef, names: set[str]) -> Iterator[str]:
    """Texts that the cases of a test give to these of its parameters."""
    for decorator in function.decorator_list:
        if not (isinstance(decorator, ast.Call) and isinstance(decorator.args[-1], ast.List)):
            continue
        given = [part.value for part in ast.walk(decorator.args[0]) if isinstance(part, ast.Constant)]
        for case in decorator.args[-1].elts:
            values = case.args if isinstance(case, ast.Call) else getattr(case, "elts", [])
            values = values if len(given) > 1 else [case]
            for name, value in zip(given, values, strict=False):
                if name in names:
                    yield from _texts(ast.walk(value))


def _texts(parts: Iterable[ast.AST]) -> Iterator[str]:
    return (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def test_no_other_test_quotes_a_summary_or_a_title() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    found = {
        str(path.relative_to(TESTS)): quotes(source)
        for path, source in sources.items()
        if any(f".{name}" in source for name in WORDED)
    }
    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("assert 'the device waits' in draft.summary", ["the device waits"]),
        ("assert 'waits for' not in found[0].summary.lower()", ["waits for"]),
        ("assert draft.title == f'Memory rises by {growth}'", ["Memory rises by "]),
        ("assert name in draft.summary", []),
        ("assert says in draft.summary", ["is not used"]),
        ("assert {'3.00 µs', 'train.py(3)'} <= set(figures(draft.summary))", []),
        ("assert 'no_grad' in draft.actions[0].after", []),
    ],
)
def test_a_quote_is_noticed(statement: str, expected: list[str]) -> None:
    source = (
        '@pytest.mark.parametrize(("name", "says"), [("a_name", "is not used")])\ndef test_it(name, says):\n    '
        + statement
    )
    assert quotes(source) == expected
    assert quotes(source.replace("test_it", "test_wording")) == []
