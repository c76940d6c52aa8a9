"""Convert text in UTF-16 and UTF-32, as Windows writes it, to UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Final

from stepscope.language import said
from stepscope.readers.packing.damage import Damage

#: Longer byte order marks first: one is a prefix of another.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
#: First characters of JSON: a bracket or white space.
_FIRST: Final = "{[ \t\r\n"
_UNMARKED: Final = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
MARK_BYTES: Final = 4


def encoding_of(start: bytes) -> str:
    """The encoding of a JSON text from its first bytes; empty for UTF-8."""
    marked = next((name for mark, name in _MARKS if start.startswith(mark)), "")
    if marked or len(start) < MARK_BYTES:
        return marked
    # Without a byte order mark: by the position of zeros, as in RFC 4627.
    starts = (name for name in _UNMARKED for first in _FIRST if start.startswith(first.encode(name)))
    return next(starts, "")


def to_utf8(blocks: Iterable[bytes], encoding: str, damage: Damage) -> Iterator[bytes]:
    """The text of blocks in UTF-8; invalid sequences become U+FFFD, reported in `damage`."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    wrong = 0
    for block in blocks:
        text = decoder.decode(block)
        wrong += text.count("\ufffd")
        yield text.encode("utf-8", "replace")
    rest = decoder.decode(b"", final=True)
    wrong += len(rest)
    yield rest.encode("utf-8", "replace")
    if wrong:
        damage.changes(said("the text is damaged {encoding}", encoding=encoding.upper()))
