"""Messages of a gettext `.po` file, as it stands: nothing to compile, and nothing compiled that is out of date.

Format: https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html. A string's escapes are those of JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

_KEYS: Final = ("msgctxt", "msgid", "msgid_plural", "msgstr")


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated text.

    Attributes:
        many: The English text for several; empty where there is one form.
        forms: The translation for each of the language's forms.
    """

    many: str
    forms: tuple[str, ...]


@dataclass(slots=True)
class _Entry:
    parts: dict[str, str] = field(default_factory=dict)
    fuzzy: bool = False


def read(text: str) -> dict[tuple[str, str], Translation]:
    """Translated messages by context and English text, without fuzzy and obsolete ones and the header."""
    found: dict[tuple[str, str], Translation] = {}
    for block in text.split("\n\n"):
        entry = _entry(block)
        forms = tuple(part for key, part in entry.parts.items() if key.startswith("msgstr"))
        english = entry.parts.get("msgid", "")
        if english and not entry.fuzzy and forms and all(forms):
            found[entry.parts.get("msgctxt", ""), english] = Translation(entry.parts.get("msgid_plural", ""), forms)
    return found


def _entry(block: str) -> _Entry:
    entry, key = _Entry(), ""
    for line in block.splitlines():
        if line.startswith("#"):
            entry.fuzzy |= line.startswith("#,") and "fuzzy" in line
            continue
        word, _, rest = line.partition(" ")
        if word.startswith(_KEYS):
            key, line = word, rest
        if key and line:
            entry.parts[key] = entry.parts.get(key, "") + json.loads(line)
    return entry
