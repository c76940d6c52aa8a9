"""The pages on remedies that come with stepscope."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def _folder() -> Path:
    """Where the pages are: in the package, or in `docs` of the checkout that the package is run from."""
    packed = _PACKAGE / "remedies"
    return packed if packed.is_dir() else _PACKAGE.parents[1] / "docs" / "remedies"


def names() -> list[str]:
    """Names of all pages."""
    return sorted(page.stem for page in _folder().glob("*.md"))


def text(name: str) -> str:
    """A page, Markdown.

    Raises:
        KeyError: There is no such page.
    """
    if name not in names():
        raise KeyError(f"no remedy is called {name}")
    return (_folder() / f"{name}.md").read_text(encoding="utf-8")
