"""Partial demangler for Itanium C++ names: finds a kernel's own name.

Source of the grammar: Itanium C++ ABI, section 5.1 "External Names (a.k.a. Mangling)".
"""

from __future__ import annotations

import re

_SOURCE_NAME = re.compile(r"\d+")
# Qualifiers and standard abbreviations that may stand before or between the parts of a nested name.
_SKIPPED = re.compile(r"(?:[rVKL]|S[tabsiod]|S[0-9A-Z]*_)")
_LITERAL = re.compile(r"L[a-z]n?\d+E")
_MOST_PARTS = 32


def qualified_name(mangled: str) -> tuple[str, str]:
    """Split a mangled name into its qualified name and what follows it.

    Args:
        mangled: A name that starts with `_Z`.

    Returns:
        `("ck_tile::kentry", "ILi1ENS_12Rmsnorm2dFwd...")`; an empty first part if the name cannot be read.
    """
    at = 2
    return _parts(mangled, at + 1) if mangled.startswith("N", at) else _single(mangled, at)


def first_type(arguments: str) -> tuple[str, str]:
    """The qualified name of the first class among template arguments, and what follows it.

    Args:
        arguments: What follows a template's name, from its `I` on.
    """
    if not arguments.startswith("I"):
        return "", ""
    at = 1
    while literal := _LITERAL.match(arguments, at):
        at = literal.end()
    if arguments.startswith("N", at):
        return _parts(arguments, at + 1)
    return _single(arguments, at)


def identifiers(arguments: str) -> list[str]:
    """Every name that stands in mangled template arguments, in order."""
    names: list[str] = []
    at = 0
    while found := _SOURCE_NAME.search(arguments, at):
        # Digits after "L" plus a type, or before an underscore, are values and back-references.
        value = arguments[found.start() - 2 : found.start() - 1] == "L"
        name, end = _source_name(arguments, found.start())
        if value or not (name[:1].isalpha() or name.startswith("_")):
            at = found.end()
            continue
        names.append(name)
        at = end
    return names


def _single(text: str, at: int) -> tuple[str, str]:
    if text.startswith("L", at):
        at += 1
    name, end = _source_name(text, at)
    return name, text[end:]


def _parts(text: str, at: int) -> tuple[str, str]:
    parts: list[str] = []
    for _ in range(_MOST_PARTS):
        if skipped := _SKIPPED.match(text, at):
            at = skipped.end()
            continue
        name, end = _source_name(text, at)
        if not name:
            break
        at = end
        parts.append("(anonymous namespace)" if name.startswith("_GLOBAL__N_") else name)
    return "::".join(parts), text[at:]


def _source_name(text: str, at: int) -> tuple[str, int]:
    length = _SOURCE_NAME.match(text, at)
    if length is None:
        return "", at
    # A hostile length must neither be converted (int() of very long digits raises) nor reach past the text.
    size = int(length.group()[:6])
    end = length.end() + size
    return (text[length.end() : end], end) if end <= len(text) else (text[length.end() :], len(text))
