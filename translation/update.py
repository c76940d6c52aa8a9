"""Takes texts of the code up into catalogues: new ones, changed ones marked fuzzy, and without those that are gone."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.pofile import read_po, write_po

from translation import page
from translation.rooms import CATALOGUES, ROOMS, ROOT, files
from translation.tables import descriptions

LANGUAGES: Final = ("zh",)
_SCHEMAS: Final = "src/stepscope/model/schema.py"
_METHOD: Final = "translation.extract:extract"
_HEADER: Final = "# {room}: texts of stepscope. Add a translation to each msgstr, and remove `fuzzy` where it is right."


def template(room: str) -> Catalog:
    """All texts of a room."""
    found, seen = Catalog(charset="utf-8"), set[object]()
    for path in files(room):
        with path.open("rb") as opened:
            for _, message, _, context in extract(_METHOD, opened, DEFAULT_KEYWORDS, strip_comment_tags=False):
                # The first place is enough to look at, and changes least.
                place = [] if (message, context) in seen else [(path.relative_to(ROOT).as_posix(), 1)]
                found.add(message, None, place, context=context)
                seen.add((message, context))
    for text in descriptions() if room == "tables" else ():
        found.add(text, None, [(_SCHEMAS, 1)])
    return found


def catalogue(room: str, language: str) -> Catalog:
    """A room's catalogue as it is in the tree; empty if there is none."""
    path = CATALOGUES / language / f"{room}.po"
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as opened:
        return read_po(opened, locale=language)


def updated(room: str, language: str) -> str:
    """The text of a room's catalogue with all texts that the code has now."""
    texts, known = template(room), catalogue(room, language)
    words = {message.id: message for message in known if str(message.context or "").startswith("wording: ")}
    elsewhere = {
        (one.context, one.id): one for other in ROOMS if other != room
        for one in catalogue(other, language) if one.id and not one.fuzzy and any(one.string)
    }  # fmt: skip
    known.update(texts, no_fuzzy_matching=False, update_header_comment=False)
    known.obsolete.clear()
    for message in known:
        same = elsewhere.get((message.context, message.id))
        if same is not None and (message.fuzzy or not message.string or not any(message.string)):
            message.string, message.flags = same.string, set()
    for message in words.values():
        known.add(message.id, message.string, context=message.context)
    return text_of(room, known)


def text_of(room: str, known: Catalog) -> str:
    """A catalogue as the text of its file: by file and place in it, without what differs with every run."""
    written = BytesIO()
    write_po(written, known, width=120, omit_header=True, sort_by_file=False, include_lineno=False)
    head = _HEADER.format(room=room) + '\nmsgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n'
    head += '"Plural-Forms: nplurals=1; plural=0;\\n"\n\n'
    return head + written.getvalue().decode("utf-8").strip() + "\n"


def main() -> None:
    """Update all catalogues, and say how much is left in each."""
    for language in LANGUAGES:
        (CATALOGUES / language).mkdir(exist_ok=True)
        for room in ROOMS:
            path = Path(CATALOGUES / language / f"{room}.po")
            path.write_text(updated(room, language), encoding="utf-8")
            known = [message for message in catalogue(room, language) if message.id]
            left = sum(message.fuzzy or not message.string or not any(message.string) for message in known)
            print(f"{language}/{room}.po: {len(known)} texts, {left} to translate")
    left = page.update()
    print(f"{page.CATALOGUE.relative_to(ROOT)}: {len(page.catalogue())} texts, {left} to translate")
