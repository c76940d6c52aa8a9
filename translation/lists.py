r"""Lists of texts to translate, to be filled in anywhere and taken back.

A list has a text per line, as `NUMBER<tab>ENGLISH`; the same lines with the translation in place of the English are
taken back. Line breaks are written `\\n`.
"""

from __future__ import annotations

from pathlib import Path

from babel.messages.catalog import Catalog, Message

from translation.rooms import CATALOGUES
from translation.update import catalogue, template, text_of


def listed(room: str, language: str) -> str:
    """What is to be translated of a room."""
    return "".join(f"{number}\t{_line(one)}\n" for number, one in _left(room, catalogue(room, language)))


def filled(room: str, language: str, lines: str) -> int:
    """Take translations into a room's catalogue; returns how many.

    Args:
        room: The room.
        language: The language.
        lines: The list; of numbers that it has not, nothing changes.
    """
    known = catalogue(room, language)
    left = dict(_left(room, known))
    given = [line.split("\t", 1) for line in lines.splitlines() if "\t" in line]
    for number, text in given:
        one = left[int(number)]
        told = text.replace("\\n", "\n")
        one.string = (told,) if isinstance(one.id, tuple) else told
        one.flags.discard("fuzzy")
    (CATALOGUES / language / f"{room}.po").write_text(text_of(room, known), encoding="utf-8")
    return len(given)


def read(path: str) -> str:
    """A list's text."""
    return Path(path).read_text(encoding="utf-8")


def _left(room: str, known: Catalog) -> list[tuple[int, Message]]:
    order = [(one.id, one.context) for one in template(room) if one.id]
    found = {(one.id, one.context): one for one in known if one.id}
    texts = [(number, found[key]) for number, key in enumerate(order, 1) if key in found]
    return [(number, one) for number, one in texts if one.fuzzy or not one.string or not any(one.string)]


def _line(one: Message) -> str:
    text = one.id[-1] if isinstance(one.id, tuple) else one.id
    return ("(" + one.context + ") " if one.context else "") + text.replace("\n", "\\n")
