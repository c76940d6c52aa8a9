"""Documents that come with stepscope, in the languages that they are written in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parents[1]
#: Names the English text that a translation was made from.
_SOURCE: Final = re.compile(r"<!-- source: .*? -->\n")


def folder(topic: str, language: str = "en") -> Path:
    """Where documents on a topic are: in the package, or in `docs` of the checkout that the package is run from.

    Args:
        topic: `remedies` or `rules`.
        language: One of `stepscope.language.LANGUAGES`.
    """
    packed = _PACKAGE / "docs"
    root = packed if packed.is_dir() else _PACKAGE.parents[1] / "docs"
    return root / topic if language == "en" else root / language / topic


def translation(topic: str, name: str, language: str) -> str | None:
    """A document in a language other than English, Markdown; None if it is not translated."""
    path = folder(topic, language) / f"{name}.md"
    return _SOURCE.sub("", path.read_text(encoding="utf-8"), count=1) if path.is_file() else None
