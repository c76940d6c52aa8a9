"""Catalogues: nothing is untranslated, fuzzy, out of date, or without the glossary's terms."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Catalog, Message
from translation.rooms import CATALOGUES, DONE, ROOMS, ROOT
from translation.update import catalogue, updated

from stepscope.language.po import read

#: Names of values, of commands and files, and turns of English are no terms.
_NO_WORDS = re.compile(
    r"\{[^}]*\}|`[^`]*`|\[\w+\]|\b[\w.]*[_=.(/]\w*\S*|--\S+|\bas a rule\b|(?:Nsight |rocprof-)compute|\w+://\S+",
    re.IGNORECASE,
)
#: Code, values and quoted texts of other programs, which stay as they are in a translation.
_NAMED = re.compile(
    r"`[^`]*`|\{[^}]*\}|“[^”]*”|'[^']*'|\[[^\]]*\]|<code>.*?</code>|vllm bench serve|verification of drafts"
    r"|in passes, idle|between passes, (?:idle|busy)|prefill in between"
)
#: Three words of English in a row are no name.
_ENGLISH = re.compile(r"(?<![\w.:/\-<])[A-Za-z]?[a-z]+(?:,? [a-z]+){2}(?![\w(=])")
#: Texts that are translated without the term, since Chinese says it otherwise.
_OTHERWISE = {
    "Below that other things take enough of the step to come first.",
    "1f1b, interleaved, gpipe, zero-bubble or dualpipe.",
    "Only some of overall, operators, modules, communication, memory, kernels and api, with commas between.",
    "none, optimizer, or weights and optimizer.",
    "finding steps took {share:.2f} % of the run",
    "set device to {devices}",
    "set start_edge or device, not both",
    "choose from 1f1b, interleaved, gpipe, zero-bubble and dualpipe",
}


@cache
def held(room: str) -> Catalog:
    return catalogue(room, "zh")


def messages(room: str) -> list[Message]:
    return [one for one in held(room) if one.id]


def names(pattern: str) -> set[str]:
    """Values of a pattern; those called `en_...` are words that English bends, which others leave out."""
    return {name for _, name, _, _ in Formatter().parse(pattern) if name and not name.startswith("en_")}


def both(one: Message) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (one.id if isinstance(one.id, tuple) else (one.id,)), (
        one.string if isinstance(one.string, tuple) else (one.string,)
    )


@pytest.mark.parametrize("room", ROOMS)
def test_the_catalogue_has_what_the_code_says(room: str) -> None:
    """`make catalogues` brings it up to date."""
    path = CATALOGUES / "zh" / f"{room}.po"
    if room in DONE:
        assert updated(room, "zh") == path.read_text(encoding="utf-8")
    else:
        assert path.exists()


@pytest.mark.parametrize("room", DONE)
def test_nothing_is_untranslated_or_fuzzy(room: str) -> None:
    left = [one.id for one in messages(room) if one.fuzzy or not all(both(one)[1])]
    assert left == []


@pytest.mark.parametrize("room", ROOMS)
def test_values_of_a_pattern_stand_in_its_translation(room: str) -> None:
    for one in messages(room):
        english, chinese = both(one)
        if any(chinese) and not one.context and not one.fuzzy:
            wanted = names(english[-1])
            assert all(names(text) == wanted for text in chinese), one.id


@pytest.mark.parametrize("room", DONE)
def test_translations_leave_no_english_but_names(room: str) -> None:
    """Findings, remedies' texts, health and errors of every rule and room: whatever is rendered is made of these."""
    left = [
        (one.id, found)
        for one in messages(room)
        for text in (both(one)[1] if not one.context else ())
        if (found := _ENGLISH.findall(_NAMED.sub("X", text)))
    ]
    assert left == []


@pytest.mark.parametrize("room", ROOMS)
def test_values_have_names(room: str) -> None:
    """A brace in a constant would be taken for a value."""
    found = {name for one in messages(room) if not one.context for text in both(one)[0] for name in names(text)}
    assert [name for name in found if not name.isidentifier()] == []


def test_the_same_text_has_one_translation() -> None:
    found: dict[object, set[object]] = {}
    for room in ROOMS:
        for one in messages(room):
            if any(both(one)[1]):
                found.setdefault((one.context, one.id), set()).add(one.string)
    assert {key: texts for key, texts in found.items() if len(texts) > 1} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_what_is_read_is_what_babel_reads(room: str) -> None:
    path = CATALOGUES / "zh" / f"{room}.po"
    mine = read(path.read_text(encoding="utf-8"))
    theirs = {
        (one.context or "", both(one)[0][0]): both(one)[1]
        for one in messages(room)
        if all(both(one)[1]) and not one.fuzzy
    }
    assert {key: message.forms for key, message in mine.items()} == theirs


def terms() -> list[tuple[str, tuple[str, ...]]]:
    """Terms with their Chinese in the glossary, for each of which one must stand where the English term does."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    part = text[text.index("## In Chinese") :].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z][^|]*) \| ([^|]+) \|", part, re.MULTILINE)
    return [(english.strip(), tuple(chinese.split("、"))) for english, chinese in rows]


@pytest.mark.parametrize("room", ROOMS)
def test_terms_are_those_of_the_glossary(room: str) -> None:
    wrong = []
    for one in messages(room):
        english, chinese = both(one)
        if one.fuzzy or one.context or english[0] in _OTHERWISE:
            continue
        plain = _NO_WORDS.sub(" ", " ".join(english))
        for term, words in terms():
            said = re.search(rf"\b{term}s?\b", plain, re.IGNORECASE) and any(chinese)
            if said and not any(word in "".join(chinese) for word in words):
                wrong.append((term, english[0], chinese[0]))
    assert wrong == []


def test_files_of_catalogues_are_rooms() -> None:
    assert {path.stem for path in Path(CATALOGUES / "zh").glob("*.po")} == set(ROOMS)
