"""The page's texts in Chinese: each has its translation with the same values, and none is left of what is gone."""

from __future__ import annotations

import json
import re

from translation import page

from language.test_catalogues import terms
from stepscope.web.routes.bundle import CATALOGUES, asset

#: The page says `Bytes` of a kind of figure, and names keys.
_NO_TERMS = re.compile(r"\{\w+\}|`[^`]*`|\b\w+_\w+\b")


def test_every_text_of_the_page_is_translated_and_nothing_else() -> None:
    """`python -m translation` takes new ones up."""
    found = page.catalogue()
    assert list(found) == page.texts()
    assert [text for text, told in found.items() if not told] == []


def test_texts_are_constants() -> None:
    assert page.others() == []


def test_values_stand_in_the_translation() -> None:
    for english, chinese in page.catalogue().items():
        assert sorted(set(re.findall(r"\{\w+\}", english))) == sorted(set(re.findall(r"\{\w+\}", chinese))), english


def test_terms_are_those_of_the_glossary() -> None:
    wrong = []
    for english, chinese in page.catalogue().items():
        plain = _NO_TERMS.sub(" ", english)
        wrong += [
            (term, english, chinese) for term, words in terms()
            if re.search(rf"\b{term}s?\b", plain, re.IGNORECASE) and not any(word in chinese for word in words)
        ]  # fmt: skip
    assert wrong == []


def test_the_built_catalogue_is_that_of_the_sources() -> None:
    built = asset(CATALOGUES["zh"]).decode()
    assert json.loads(built.removeprefix("globalThis.stepscopeTexts=").rstrip(";\n")) == page.catalogue()


def test_texts_are_found_in_code() -> None:
    assert page.texts_of('woven("a {b}") word("c")\ncounted(n.length, "d", "e") at("f") list("g")') == [
        "a {b}", "c", "d", "e",
    ]  # fmt: skip
    assert page.others_of("t(name) word(kind) at(name) board.word(name)") == ["t(name)", "word(kind)"]
