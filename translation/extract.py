"""A plug-in for Babel that finds the texts of stepscope's code.

Texts are the first arguments of `said`, `pattern` and `counted`, the nouns of `plural`, and constants that need no call
since it is known that they are shown: arguments of the classes in `SHOWN`, of options of the command line,
documentation of commands and the first line of a rule's documentation.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

#: Line, function, messages, comments: what Babel wants of an extractor. A context comes first where there is one.
Extracted = tuple[int, str | None, str | tuple[str, ...], list[str]]

#: Arguments that are shown, by the name of what is called: positions and keywords.
SHOWN: Final[Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]]] = {
    "said": ((0,), ()),
    "pattern": ((0,), ()),
    "noted": ((0,), ()),
    "Action": ((0,), ("text",)),
    "Draft": ((0, 1), ("title", "summary")),
    "Threshold": ((2, 3), ("unit", "why")),
    "Section": ((0, 2), ("title", "aside")),
    "Line": ((0, 1), ("text", "detail")),
    "Figure": ((0, 2), ("label", "detail")),
    "View": ((1,), ("caption",)),
    "UserError": ((0,), ("hint",)),
    "StepscopeError": ((0,), ("hint",)),
    "BadRequestError": ((0,), ("hint",)),
    "UnusableInputError": ((0,), ("hint",)),
    "MissingInputError": ((0,), ("hint",)),
    "Option": ((), ("help",)),
    "Argument": ((), ("help",)),
    "Typer": ((), ("help", "epilog")),
    "BadParameter": ((0,), ()),
    "observe": ((3, 4), ()),
    "Note": ((3, 4), ()),
    "HealthLine": ((2, 3), ()),
    "Observation": ((3, 4), ()),
    "Absence": ((0, 1), ("message", "hint")),
    "SourceTraits": ((), ("inputs", "elsewhere", "marking", "marking_elsewhere")),
    "Advice": ((1, 2, 3), ("what", "why", "change")),
    "_Switch": ((2,), ("why",)),
    "choose": ((2,), ("otherwise",)),
    "OutsideRemedy": ((), ("title", "changes")),
    "GuidePlace": ((1, 3, 5, 7), ("title", "question", "turns", "settings")),
}
#: What separates parts: `sentences` and `listing`.
_SEPARATORS: Final = {"sentences": ((1,), ("between",)), "listing": ((1, 2), ("between", "last"))}

#: Functions that make texts, and the modules that have them.
OURS: Final = ("said", "pattern", "counted", "plural", *_SEPARATORS)
_HOMES: Final = ("stepscope.language", "stepscope.language.said", "stepscope.model.amounts", "stepscope.reports.units")


def extract(
    fileobj: IO[bytes], keywords: Collection[str], comment_tags: Collection[str], options: Mapping[str, Any]
) -> Iterator[Extracted]:
    """The texts of a file, as Babel asks for them."""
    del keywords, comment_tags, options
    tree = ast.parse(fileobj.read())
    yield from _documented(tree, Path(str(getattr(fileobj, "name", ""))))
    ours = _imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _name(node.func)) and (name not in OURS or name in ours):
            yield from _called(name, node)


def _imported(tree: ast.Module) -> set[str]:
    """Which of `OURS` the module has from where they are; its own functions may have the same names."""
    return {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in _HOMES
        for alias in node.names
    }  # fmt: skip


def _called(name: str, node: ast.Call) -> Iterator[Extracted]:
    if name == "counted":
        one, many = (_constant(argument) for argument in node.args[:2])
        yield node.lineno, "ngettext", (one, many), []
    elif name == "plural" and len(node.args) > 1:
        nouns = list(constants(node.args[1]))
        many = list(constants(node.args[2])) if len(node.args) > 2 else []
        for position, noun in enumerate(nouns):
            several = many[position] if position < len(many) else f"{noun}s"
            yield node.lineno, "ngettext", ("{count:,} " + noun, "{count:,} " + several), []
    elif name in _SEPARATORS:
        for argument in _arguments(node, *_SEPARATORS[name]):
            for text in constants(argument):
                yield node.lineno, "pgettext", ("separator", text), []
    elif name in SHOWN:
        for argument in _arguments(node, *SHOWN[name]):
            for text in constants(argument):
                if text.strip():
                    yield node.lineno, None, text, []


def _documented(tree: ast.Module, path: Path) -> Iterator[Extracted]:
    """The first line of a rule's documentation, and the help of a command of the file's name."""
    names = {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
             if isinstance(target, ast.Name)}  # fmt: skip
    if "RULE" in names and (text := ast.get_docstring(tree)):
        yield 1, None, text.partition("\n")[0], []
    for node in tree.body if "cli" in path.parts else ():
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)) and _is_command(node, path.stem):
            if "\nArgs:" in text:  # no command: those have their arguments' help
                continue
            yield node.lineno, None, text, []


def _is_command(node: ast.FunctionDef, stem: str) -> bool:
    """Whether it is a command of the command line: named as its file, of a group, or what stands before all."""
    registered = any("command(" in ast.unparse(one) or "callback(" in ast.unparse(one) for one in node.decorator_list)
    typed = any("Annotated" in ast.unparse(one.annotation) or "typer" in ast.unparse(one.annotation)
                for one in node.args.args if one.annotation)  # fmt: skip
    return (
        registered
        or (node.name == "options" and typed)
        or (node.name.rstrip("_") == stem and stem not in ("main", "entry", "interrupts", "unfinished"))
        or node.name == "try_"
    )


def constants(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may be, where it is a constant, a choice between some or a tuple of them.

    Of a tuple in a tuple, the first is a text, and what follows says what the text is of.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from constants(node.body)
        yield from constants(node.orelse)
    elif isinstance(node, (ast.Dict, ast.BoolOp)):
        for value in node.values:
            yield from constants(value)
    elif isinstance(node, ast.Tuple):
        for value in node.elts:
            yield from constants(value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value)


def _arguments(node: ast.Call, positions: Collection[int], names: Collection[str]) -> Iterator[ast.expr]:
    yield from (node.args[position] for position in positions if position < len(node.args))
    yield from (keyword.value for keyword in node.keywords if keyword.arg in names)


def _constant(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise SyntaxError(f"line {node.lineno}: a pattern must be a constant")


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
