"""One mistake in one file: another comparison, operator or sign, or the opposite of a boolean."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
#: Arguments that make sure of something, or say how a class is made: no result depends on them.
_DECLARED: Final = ("strict", "frozen", "slots", "order")
_LAYERS: Final = ("signals", "analyses", "rules")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one expression replaced.

    Attributes:
        path: The file.
        line: Where, counted from 1.
        before: The expression as it is.
        after: What takes its place.
        text: The file's text with it.
    """

    path: Path
    line: int
    before: str
    after: str
    text: str


def sample(source: Path, number: int, seed: int) -> list[Mutant]:
    """So many mutants of the layers, each line of code with the same chance; the first ones of a longer sample."""
    every = [one for layer in _LAYERS for path in sorted((source / layer).rglob("*.py")) for one in mutants(path)]
    chosen = random.Random(seed)
    chosen.shuffle(every)
    return every[:number]


def mutants(path: Path) -> list[Mutant]:
    """Every mutant of a file."""
    text = path.read_text(encoding="utf-8")
    lines = text.encode().split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found = []
    for node, changed in _changes(ast.parse(text)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        lo, hi = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        data = text.encode()
        after = ast.unparse(changed)
        mutated = (data[:lo] + f"({after})".encode() + data[hi:]).decode()
        found.append(Mutant(path, node.lineno, ast.unparse(node), after, mutated))
    return found


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Expressions, and what each may be mistaken for."""
    for node in _computed(tree):
        if isinstance(node, ast.Compare):
            for place, operator in enumerate(node.ops):
                changed = deepcopy(node)
                changed.ops[place] = _COMPARISONS[type(operator)]()
                yield node, changed
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            yield node, ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
        elif isinstance(node, ast.BoolOp):
            yield node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            yield node, node.operand
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                yield node, ast.Constant(not node.value)
            elif isinstance(node.value, (int, float)) and node.value:
                yield node, ast.UnaryOp(ast.USub(), node)


def _computed(node: ast.AST) -> Iterator[ast.expr]:
    """Expressions that are computed: no annotations, none for the type checker alone or in a text, no `strict=True`."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns") or isinstance(node, ast.JoinedStr):
            continue
        if isinstance(node, ast.keyword) and node.arg in _DECLARED:
            continue
        if isinstance(node, ast.If) and name == "body" and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.expr):
                yield child
            if isinstance(child, ast.AST) and not _is_type(node, child):
                yield from _computed(child)


def _is_type(parent: ast.AST, child: ast.AST) -> bool:
    """Whether an expression says a type, as in `cast(...)` or the subscript of `Signal[...]`."""
    return isinstance(parent, ast.Subscript) and isinstance(child, (ast.BinOp, ast.Name)) and child is parent.slice
