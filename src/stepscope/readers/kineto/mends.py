"""Mends of broken JSON, each for one kind of defect that profilers write.

A mend works on any number of segments joined by NULs, so that a recording with the same defect in each event is mended
at the speed of a regular expression. Mends need not preserve valid JSON: only invalid text is given to them, and the
result is parsed again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

#: Between segments. It can't occur inside them, since `clean` blanks every control character.
SEPARATOR: Final = b"\0"

_BLANKS: Final = bytes(32 if code < 32 else code for code in range(256))
_BLANKS_BUT_SEPARATOR: Final = SEPARATOR + _BLANKS[1:]

_MUCH_SPACE: Final = b" " * 256
_LONG_SPACE: Final = re.compile(_MUCH_SPACE + b" *")

_STRING: Final = rb'"[^"\\\0]*(?:\\[^\0][^"\\\0]*)*"'
#: A string from its first backslash on.
_FROM_BACKSLASH: Final = re.compile(rb'(?:\\[^\0]?[^"\\\0]*)+"?')
#: After an even number of backslashes, one that starts no escape.
_BAD_ESCAPE: Final = re.compile(rb'(?<!\\)(?:\\\\)*\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_HALF_SURROGATE: Final = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_LITERAL: Final = rb"(?:true|false|null|NaN|-?Infinity|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"
#: A string; or a place for a value that holds none, or bare text that is none.
_VALUE: Final = re.compile(
    _STRING + rb"|([:\[,])(\s*)(?!" + _LITERAL + rb'\s*[,}\]])([^\s"\[\]{},:\0][^"\[\]{},\0]*)?(?=\s*([,}\]]))'
)
#: The same only for members of objects. A quote with a colon behind it ends a key, so that strings need no look.
_MEMBER: Final = re.compile(
    rb'(?<!\\)"(\s*:\s*)(?!' + _LITERAL + rb'\s*[,}\]])([^\s"\[\]{},:\0][^"\[\]{},\0]*)?(?=\s*[,}\]])'
)
_NUMBER: Final = re.compile(rb"([+-]?)0*(\d*)(?:\.(\d*))?([eE][+-]?\d+)?")
_ABSENT: Final = frozenset({b"n/a", b"na", b"none", b"nil", b"undefined", b"unknown", b"-", b"--", b"?"})
#: As the C libraries of Linux and Windows print them.
_NOT_A_NUMBER: Final = re.compile(rb"[+-]?(?:\d\.#)?(?:[qs]?nan|inf(?:inity)?|ind)\d*(?:\(.*\))?", re.I | re.S)
#: A quote that follows no bracket, comma or colon, directly, after a space or after an indent, and precedes none.
_STRAY_QUOTE: Final = re.compile(rb'(?<![{,:\[\\\0])(?<![{,:\[] )(?<!  )"(?!\s*[:,}\]\0])')


def clean(segment: bytes) -> bytes:
    """Blank control characters: JSON allows them as white space only, not in strings."""
    return _clean_characters(segment.translate(_BLANKS))


def clean_all(segments: Sequence[bytes]) -> bytes:
    """Cleaned segments with separators between them."""
    data = SEPARATOR.join(segments)
    if data.count(SEPARATOR) != len(segments) - 1:
        return SEPARATOR.join([clean(segment) for segment in segments])
    return _clean_characters(data.translate(_BLANKS_BUT_SEPARATOR))


def _clean_characters(data: bytes) -> bytes:
    if _MUCH_SPACE in data:
        # Regular expressions that try every position would take quadratic time.
        data = _LONG_SPACE.sub(b" ", data)
    if b"\\u" in data:
        # Half of a pair of UTF-16 surrogates is no character.
        data = _HALF_SURROGATE.sub(lambda half: half[1] or rb"\ufffd", data)
    # What is not UTF-8 becomes U+FFFD.
    return data if data.isascii() else data.decode("utf-8", "replace").encode()


def double_backslashes(data: bytes) -> bytes:
    r"""Double all backslashes, but those before quotes, of strings that have one which starts no escape."""
    return _change_raw(data, lambda text: text.replace(b"\\", b"\\\\").replace(b'\\\\"', b'\\"'))


def double_all_backslashes(data: bytes) -> bytes:
    r"""Double all backslashes of such strings, including those before quotes: "C:\new\" ends with a backslash."""
    return _change_raw(data, lambda text: text.replace(b"\\", b"\\\\"))


def _change_raw(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Change every string that has a backslash which starts no escape, from its first backslash on."""
    out: list[bytes] = []
    done = 0
    start = data.find(b"\\")
    while start >= 0:
        end = _FROM_BACKSLASH.match(data, start).end()  # type: ignore[union-attr]
        text = data[start:end]
        if _BAD_ESCAPE.search(text) is not None:
            out += (data[done:start], change(text))
            done = end
        start = data.find(b"\\", end)
    return b"".join([*out, data[done:]]) if out else data


def mend_members(data: bytes) -> bytes:
    """Convert N/A, None, 007, +1, .5, 0x1f, bare words and missing values of keys to JSON values."""
    return _MEMBER.sub(lambda match: b'"' + match[1] + _from_bare(match[2] or b"none"), data)


def mend_values(data: bytes) -> bytes:
    """As `mend_members`, but everywhere, also in lists; drops excess commas."""
    return _VALUE.sub(_value, data)


def _value(match: re.Match[bytes]) -> bytes:
    before, space, bare, after = match.groups()
    if before is None:
        return match[0]
    if bare is not None:
        return before + space + _from_bare(bare)
    if before == b",":
        return space
    return match[0] if (before, after) == (b"[", b"]") else before + b"null" + space


def _from_bare(text: bytes) -> bytes:
    word = text.strip()
    lower = word.lower()
    if lower in (b"true", b"false"):
        return lower
    if lower in _ABSENT or _NOT_A_NUMBER.fullmatch(word):
        return b"null"
    if re.fullmatch(rb"0x[0-9a-f]{1,16}", lower):
        return b"%d" % int(lower, 16)
    number = _NUMBER.fullmatch(word)
    if number and re.search(rb"\d", word):
        sign, digits, fraction, exponent = number.groups(b"")
        point = b"." + fraction if fraction else b""
        return (b"-" if sign == b"-" else b"") + (digits or b"0") + point + exponent
    return b'"' + word.replace(b"\\", b"\\\\") + b'"'


def escape_quotes(data: bytes) -> bytes:
    """Escape quotes that neither start a string (after `{ [ , :`) nor end one (before `: , } ]`)."""
    return _STRAY_QUOTE.sub(rb'\\"', data)


#: In the order in which they are tried, each on top of the ones before it.
MENDS: Final = (double_backslashes, mend_members, escape_quotes, mend_values)
