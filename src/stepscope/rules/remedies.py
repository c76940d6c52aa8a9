"""The pages on remedies that come with stepscope."""

from __future__ import annotations

from stepscope.rules.translated import folder, translation


def names() -> list[str]:
    """Names of all pages."""
    return sorted(page.stem for page in folder("remedies").glob("*.md"))


def text(name: str, language: str = "en") -> str:
    """A page, Markdown; in English where it is not translated.

    Raises:
        KeyError: There is no such page.
    """
    if name not in names():
        raise KeyError(f"no remedy is called {name}")
    other = translation("remedies", name, language) if language != "en" else None
    return other or (folder("remedies") / f"{name}.md").read_text(encoding="utf-8")
