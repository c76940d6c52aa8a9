"""Texts of the page's TypeScript, and the catalogue that has them in another language.

Texts are the constants that `t`, `woven`, `word` and `counted` get; `page/src/language/t.ts` says what each is for. The
catalogue is one JSON object by English text, in the order of the code; an empty translation is missing.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from translation.rooms import ROOT

SOURCES: Final = ROOT / "page" / "src"
CATALOGUE: Final = SOURCES / "language" / "zh.json"
_TEXT: Final = r'"((?:[^"\\]|\\.)*)"'
_CALL: Final = re.compile(rf"(?<![.\w])(?:t|woven|word)\(\s*{_TEXT}|\bcounted\([^\"]*?,\s*{_TEXT},\s*{_TEXT}")
#: A call whose text is no constant.
_OTHER: Final = re.compile(r"(?<![.\w])(?:t|woven|word)\((?!\s*\")[^)]*\)?")


def sources() -> list[Path]:
    """The files that have texts, in a fixed order."""
    return [path for path in sorted(SOURCES.rglob("*.ts*")) if path.name != "t.ts"]


def texts() -> list[str]:
    """Each text once, in the order of the code."""
    return list(dict.fromkeys(text for path in sources() for text in texts_of(path.read_text(encoding="utf-8"))))


def texts_of(code: str) -> list[str]:
    """The texts of a file's code."""
    return [json.loads(f'"{text}"') for groups in _CALL.findall(code) for text in groups if text]


def others() -> list[str]:
    """Calls whose text is no constant, which no catalogue can have, by file."""
    return [f"{path.name}: {call}" for path in sources() for call in others_of(path.read_text(encoding="utf-8"))]


def others_of(code: str) -> list[str]:
    """Those of a file's code."""
    return list(_OTHER.findall(code))


def catalogue() -> dict[str, str]:
    """The catalogue as it is in the tree."""
    found: dict[str, str] = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    return found


def update() -> int:
    """Take all texts of the code up into the catalogue, and leave out others; returns how many are to be translated."""
    known = catalogue()
    found = {text: known.get(text, "") for text in texts()}
    CATALOGUE.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return sum(not told for told in found.values())
