"""Events whose JSON is broken: made readable again, one by one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final

_DECODER: Final = json.JSONDecoder(strict=False)
_CONTROL: Final = dict.fromkeys(range(32), " ")
_ESCAPE: Final = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
#: A word where JSON wants a value. Profilers write N/A, nan, inf, None and the like, or nothing at all.
_WORD: Final = re.compile(
    r"""([:\[,]\s*)(?!true\b|false\b|null\b)([^\s"\[\]{},:\d-][^\s"\[\]{},]*|-[^\d\s,\]}][^\s,\]}]*)?(?=\s*[,}\]])"""
)
_WORDS: Final = {"true": "true", "false": "false"}
#: A key of an object: what follows a comma between two members.
_NEXT_MEMBER: Final = re.compile(r'\s*"[^"\\]{1,80}"\s*:')
_NEXT_ELEMENT: Final = re.compile(r'\s*["\[{\d\-tfn]')
_CLOSERS: Final = re.compile(r"\s*[}\]]*\s*(,|$)|\s*[}\]]+\s*[,}\]]")


@dataclass(slots=True)
class Repaired:
    """What could be read from a piece of text.

    Attributes:
        events: JSON texts of whole objects.
        rest: What follows the end of the event list, if it ends in this piece; else None.
        open: Whether the text ends inside an object: cut too early, or the recording was.
        lost: Number of stretches of text that could not be read.
    """

    events: list[str] = field(default_factory=list)
    rest: str | None = None
    open: bool = False
    lost: int = 0


def repair(piece: bytes) -> Repaired:
    """Read what can be read of a piece that is not one JSON object."""
    text = piece.decode("utf-8", "replace").translate(_CONTROL).lstrip("\ufeff")
    result = _read(text)
    if not (result.open or result.lost):
        return result
    attempts = [result]
    for mend in (mend_values, escape_stray_quotes):
        text = mend(text)
        attempts.append(_read(text))
        if not (attempts[-1].open or attempts[-1].lost):
            return attempts[-1]
    return max(attempts, key=lambda attempt: (len(attempt.events), -attempt.lost))


def mend_values(text: str) -> str:
    """Double backslashes that begin no escape, and put null where a value is no JSON value."""
    text = _ESCAPE.sub(lambda match: match.group(1) or "\\\\", text)
    return "".join(part if quoted else _WORD.sub(_value, part) for part, quoted in _split_strings(text))


def _value(match: re.Match[str]) -> str:
    word = match.group(2) or ""
    return match.group(1) + _WORDS.get(word.lower(), "null")


def _split_strings(text: str) -> list[tuple[str, bool]]:
    """The text in parts, each with whether it is a string literal."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return [(part, index % 2 == 1) for index, part in enumerate(parts)]


def escape_stray_quotes(text: str) -> str:
    """Escape quotes inside strings: those after which no JSON could go on."""
    out: list[str] = []
    stack: list[str] = []
    in_string = is_key = False
    index, start = 0, 0
    while index < len(text):
        char = text[index]
        if in_string:
            if char == "\\":
                index += 1
            elif char == '"':
                if _closes(text, index + 1, is_key, stack):
                    in_string = False
                else:
                    out.append(text[start:index] + "\\")
                    start = index
        elif char == '"':
            in_string = True
            is_key = bool(stack) and stack[-1] == "{" and _after_comma_or_brace(text, index)
        elif char in "{[":
            stack.append(char)
        elif char in "}]" and stack:
            stack.pop()
        index += 1
    return "".join(out) + text[start:]


def _closes(text: str, index: int, is_key: bool, stack: list[str]) -> bool:
    """Whether a quote right before `index` can end its string."""
    rest = text[index : index + 120].lstrip()
    if is_key:
        return rest.startswith(":")
    if rest.startswith(","):
        follower = _NEXT_ELEMENT if stack and stack[-1] == "[" else _NEXT_MEMBER
        return follower.match(rest[1:]) is not None
    return not rest or (rest[0] in "}]" and _CLOSERS.match(rest) is not None)


def _after_comma_or_brace(text: str, index: int) -> bool:
    before = text[:index].rstrip()
    return not before or before[-1] in "{,"


def _read(text: str) -> Repaired:
    """Split a text into whole objects and what is left."""
    result = Repaired()
    index = 0
    while True:
        while index < len(text) and text[index] in " ,":
            index += 1
        if index >= len(text):
            return result
        if text[index] == "]":
            result.rest = text[index + 1 :]
            return result
        if text[index] == "{":
            try:
                _, end = _DECODER.raw_decode(text, index)
            except (json.JSONDecodeError, RecursionError) as error:
                result.open = _runs_out(text, error)
            else:
                result.events.append(text[index:end])
                index = end
                continue
        result.lost += not result.open
        following = text.find("{", index + 1) if not result.events and text[index] != "{" else -1
        if following < 0:
            return result
        index = following


def _runs_out(text: str, error: Exception) -> bool:
    """Whether decoding failed since the text ended, not since it is wrong."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or not text[error.pos :].strip(" ,")
