"""Patterns in another language, from the `.po` files of its folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from stepscope.language.po import Translation, read

#: What stands between sentences, phrases and words: context of such messages in the catalogues.
SEPARATOR: Final = "separator"
#: Context of messages that replace a word of a wording: `wording: NAME`.
WORDING: Final = "wording: "
#: Translation of what a language says nothing for, such as the space between sentences: an empty one is missing.
NOTHING: Final = "∅"
_FOLDER: Final = Path(__file__).parent


class Catalogue:
    """What English texts are called in another language.

    Args:
        messages: All that is translated.
    """

    def __init__(self, messages: Mapping[tuple[str, str], Translation]) -> None:
        self.messages = messages
        self._wordings: dict[str, list[tuple[re.Pattern[str], str]]] = {}
        for (context, text), message in messages.items():
            if context.startswith(WORDING):
                name = context.removeprefix(WORDING)
                self._wordings.setdefault(name, []).append((re.compile(text), _plain(message)))

    def pattern(self, one: str, many: str = "", count: float = 1) -> str | None:
        """The pattern for an English one; None where there is none.

        Args:
            one: The English pattern.
            many: That for several; empty where there is one form.
            count: The number that decides. Chinese has one form for all numbers.
        """
        message = self.messages.get(("", one))
        if message is None or message.many != many:
            return None
        return message.forms[0 if count == 1 else -1]

    def between(self, separator: str) -> str:
        """What stands between parts that English separates so."""
        message = self.messages.get((SEPARATOR, separator))
        return _plain(message) if message else separator

    def reworded(self, wording: str, text: str) -> str:
        """A text in other words."""
        for pattern, instead in self._wordings.get(wording, ()):
            text = pattern.sub(instead, text)
        return text


def _plain(message: Translation) -> str:
    return "" if message.forms[0] == NOTHING else message.forms[0]


@cache
def catalogue_of(language: str) -> Catalogue:
    """The catalogue of a language, read once."""
    found: dict[tuple[str, str], Translation] = {}
    for path in sorted((_FOLDER / language).glob("*.po")):
        found |= read(path.read_text(encoding="utf-8"))
    return Catalogue(found)
