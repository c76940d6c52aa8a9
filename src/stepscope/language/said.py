"""A text that is English and remembers what it was made of, so that it can be told in another language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stepscope.language.catalogue import Catalogue


class AsWritten(str):
    """A value as it was once written: any format leaves it as it is."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return str(self)


class Said(str):
    """An English text with its pattern and named values; everywhere else it is the text.

    What is made of it by methods of `str` is a plain text, which other languages can't tell: use `said` with it as a
    value, `sentences` or `listing`, `each` and `reworded`, or add to it.

    Attributes:
        pattern: The English pattern, with values as in `str.format`: `{calls:,} collectives carry {size}`.
        many: The pattern for other numbers than one; empty where there is one form.
        values: What stands for the names; those that are `Said` are told in the other language too.
        number: What decides between the two patterns.
    """

    __slots__ = ("many", "number", "pattern", "values")
    pattern: str
    many: str
    values: Mapping[str, Any]
    number: float

    def __new__(cls, pattern: str, values: Mapping[str, Any], many: str = "", number: float = 1) -> Said:
        """Fill the pattern in English."""
        text = super().__new__(cls, (many if many and number != 1 else pattern).format_map(values))
        text.pattern, text.many, text.values, text.number = pattern, many, values, number
        return text

    def in_words_of(self, catalogue: Catalogue) -> str:
        """The text as a catalogue has it; English where it has none."""
        pattern = catalogue.pattern(self.pattern, self.many, self.number)
        if pattern is None:
            pattern = self.many if self.many and self.number != 1 else self.pattern
        return pattern.format_map({name: _told(value, catalogue) for name, value in self.values.items()})

    def each(self, change: Callable[[str], str]) -> Said:
        """The same with every value that is a text changed; values that are `Said` in their values."""
        values = {name: _changed(value, change) for name, value in self.values.items()}
        return Said(self.pattern, values, self.many, self.number)

    def reworded(self, wording: str, text: str) -> Said:
        """The same in other words: `text` in English, and what the catalogue's wording makes of it elsewhere."""
        return self if text == self else _Reworded.of(self, wording, text)

    def capitalize(self) -> str:
        """With a capital letter first, where the language has such."""
        return self.reworded("", super().capitalize())

    def __add__(self, other: str) -> str:
        return sentences((self, other), "")

    def __radd__(self, other: str) -> str:
        return sentences((other, self), "")

    def __reduce__(self) -> tuple[Any, ...]:
        return Said, (self.pattern, self.values, self.many, self.number)


class SaidAsWritten(Said):
    """What was said in the place of a number: any format leaves it as it is."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return str(self)

    def each(self, change: Callable[[str], str]) -> Said:
        """The same with its values changed."""
        return SaidAsWritten(self.pattern, super().each(change).values)

    def __reduce__(self) -> tuple[Any, ...]:
        return SaidAsWritten, (self.pattern, self.values)


class _Joined(Said):
    """Texts one after another."""

    __slots__ = ("parts",)
    parts: tuple[str, ...]

    @classmethod
    def of(cls, parts: tuple[str, ...], between: str) -> _Joined:
        text = str.__new__(cls, between.join(parts))
        text.pattern, text.many, text.values, text.number, text.parts = between, "", {}, 1, parts
        return text

    def in_words_of(self, catalogue: Catalogue) -> str:
        return catalogue.between(self.pattern).join(_part_told(part, catalogue) for part in self.parts)

    def each(self, change: Callable[[str], str]) -> Said:
        return _Joined.of(
            tuple(part.each(change) if isinstance(part, Said) else change(part) for part in self.parts), self.pattern
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _Joined.of, (self.parts, self.pattern)


class _Reworded(Said):
    """A text in other words, such as one on steps of a recording that has none."""

    __slots__ = ("base", "wording")
    base: Said
    wording: str

    @classmethod
    def of(cls, base: Said, wording: str, english: str) -> _Reworded:
        text = str.__new__(cls, english)
        text.pattern, text.many, text.values, text.number = base.pattern, base.many, base.values, base.number
        text.base, text.wording = base, wording
        return text

    def in_words_of(self, catalogue: Catalogue) -> str:
        return catalogue.reworded(self.wording, self.base.in_words_of(catalogue))

    def each(self, change: Callable[[str], str]) -> Said:
        return _Reworded.of(self.base.each(change), self.wording, change(str(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Reworded.of, (self.base, self.wording, str(self))


def said(pattern: str, /, **values: object) -> Said:
    """A text: a pattern with named values, as `str.format` writes them.

    Args:
        pattern: A constant, whole sentences or a phrase: catalogues have it as it stands.
        values: What the names in it stand for. A word that is not the same everywhere is `said` itself.
    """
    return Said(pattern, values)


def pattern(text: str) -> str:
    """A pattern that `said` gets later, as from a choice: marked so that catalogues have it."""
    return text


def counted(one: str, many: str, /, count: float, **values: object) -> Said:
    """A text that differs between one and several, as `{count:,} step` and `{count:,} steps`.

    Args:
        one: The pattern where the count is one.
        many: The pattern where it is another.
        count: The number; a value of the patterns, too.
        values: Other values.
    """
    return Said(one, {"count": count, **values}, many, count)


def sentences(parts: Iterable[str], between: str = " ") -> str:
    """Texts one after another, in a language with what it puts between sentences; empty ones are left out."""
    kept = tuple(part for part in parts if part)
    if not any(isinstance(part, Said) for part in kept):
        return between.join(kept)
    return kept[0] if len(kept) == 1 else _Joined.of(kept, between)


def listing(parts: Iterable[str], between: str = ", ", last: str = "") -> str:
    """Phrases in a row.

    Args:
        parts: The phrases.
        between: What English puts between them.
        last: The same before the last one, such as ` and `; as between the others unless given.
    """
    *first, final = [part for part in parts if part] or [""]
    if not first:
        return final
    before = first[0] if len(first) == 1 else _Joined.of(tuple(first), between)
    return _Joined.of((before, final), last or between)


def parted(text: str, between: str = ", ") -> tuple[str, ...]:
    """What a listing was made of; of a plain text what stands between the separators."""
    return text.parts if isinstance(text, _Joined) and text.pattern == between else tuple(text.split(between))


def _part_told(part: str, catalogue: Catalogue) -> str:
    """A part in words of a catalogue, which may have it as it is; a single word may as well be a recording's name."""
    if isinstance(part, Said):
        return part.in_words_of(catalogue)
    return (catalogue.pattern(part) if " " in part else None) or part


def _told(value: Any, catalogue: Catalogue) -> Any:
    if not isinstance(value, Said):
        return value
    text = value.in_words_of(catalogue)
    return AsWritten(text) if isinstance(value, SaidAsWritten) else text


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, Said):
        return value.each(change)
    if isinstance(value, AsWritten):
        return AsWritten(change(value))  # its pattern may have a format for a number
    return change(value) if isinstance(value, str) else value
