"""Texts that come back from files, recognised by the patterns of a catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import Final

from stepscope.language.catalogue import catalogue_of
from stepscope.language.said import AsWritten, Said, SaidAsWritten, listing, pattern

#: Fixed letters of a pattern, and the part of a text that they are, from which the text is taken for it. Fewer would
#: fit what somebody else wrote.
_LETTERS: Final = 12
_PART: Final = 1 / 3
#: So many letters at the very beginning are enough, however much follows.
_BEGINNING: Final = 10
#: Texts within texts that are looked into.
_DEEP: Final = 3
_BETWEEN: Final = re.compile(r", | and ")
#: A range of numbers, with or without units.
_AMOUNT: Final = r"(-?\d[\d,.]*(?: (?:[^\W\d_]{1,5}|%))?)"
_RANGE: Final = re.compile(f"{_AMOUNT} to {_AMOUNT}")


@dataclass(frozen=True, slots=True)
class _Known:
    one: str
    many: str
    several: bool
    fixed: tuple[str, ...]
    anchored: bool
    regex: re.Pattern[str] | None
    plain: frozenset[str]

    @property
    def weight(self) -> int:
        return sum(character.isalpha() for part in self.fixed for character in part)


class Patterns:
    """Patterns of English texts, those with most fixed words first."""

    def __init__(self, known: Iterable[tuple[str, str]]) -> None:
        made = []
        for one, many in known:
            made.append(_pattern(one, many, False))
            if many:
                made.append(_pattern(many, one, True))
        self._constants = {one.one: one for one in made if one.regex is None}
        self._patterns = sorted(
            (one for one in made if one.regex is not None and one.weight >= _LETTERS), key=lambda one: -one.weight
        )

    def recalled(self, text: str, depth: int = 0) -> str:
        """The text as `Said`; itself where it fits no pattern. Values are tried in turn."""
        if constant := self._constants.get(text):
            return _said(constant, {})
        for known in self._patterns:
            enough = known.weight >= _PART * len(text) or known.anchored
            if not enough or not all(part in text for part in known.fixed):
                continue
            if known.regex and (match := known.regex.fullmatch(text)):
                values = {
                    name: self._value(value, name in known.plain or depth > 1, depth)
                    for name, value in match.groupdict().items()
                }
                return _said(known, values)
        return self._in_parts(text, depth)

    def _in_parts(self, text: str, depth: int) -> str:
        """What consists of sentences, or of phrases that are all known, part by part."""
        if "; " in text and depth < _DEEP:
            parts = [self.recalled(part, depth + 1) for part in text.split("; ")]
            return listing(parts, "; ") if any(isinstance(one, Said) for one in parts) else text
        phrases = _BETWEEN.split(text)
        if len(phrases) > 1 and all(one in self._constants for one in phrases):
            return listing((_said(self._constants[one], {}) for one in phrases), ", ", " and ")
        return text

    def _value(self, value: str, plain: bool, depth: int) -> str:
        if match := _RANGE.fullmatch(value):
            # Lines that differ in numbers alone are one, with their range.
            return SaidAsWritten(pattern("{low} to {high}"), {"low": AsWritten(match[1]), "high": AsWritten(match[2])})
        # A single word may as well be a name of the recording.
        found = value if plain or " " not in value else self.recalled(value, depth + 1)
        return found if isinstance(found, Said) else AsWritten(value)


@cache
def patterns_of(language: str) -> Patterns:
    """The patterns of a language's catalogue."""
    messages = catalogue_of(language).messages
    return Patterns((text, message.many) for (context, text), message in messages.items() if not context)


def _said(known: _Known, values: dict[str, str]) -> Said:
    one, many = (known.many, known.one) if known.several else (known.one, known.many)
    return Said(one, values, many, 2 if known.several else 1)


def _pattern(one: str, many: str, several: bool) -> _Known:
    fixed, regex, plain, seen = [], "", set(), set()
    for literal, name, spec, conversion in Formatter().parse(one):
        if literal:
            fixed.append(literal)
            regex += re.escape(literal)
        if name is None:
            continue
        if spec or conversion:
            plain.add(name)
        regex += f"(?P={name})" if name in seen else f"(?P<{name}>.*?)"
        seen.add(name)
    compiled = re.compile(regex, re.DOTALL) if seen else None
    first = fixed[0] if fixed and one.startswith(fixed[0]) else ""
    anchored = sum(map(str.isalpha, first)) >= _BEGINNING
    return _Known(one, many, several, tuple(fixed), anchored, compiled, frozenset(plain))
