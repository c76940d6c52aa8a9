"""Find unescaped quotes inside strings by the text that follows them."""

from __future__ import annotations

import re
from typing import Final

#: Everything that matters outside strings and inside them.
_TOKEN: Final = re.compile(r'\\.|["{}\[\],]', re.S)
#: What follows a comma between two members of an object.
_MEMBER: Final = re.compile(r'\s*,\s*"[^"\\]{1,80}"\s*:')
#: What follows a comma between two elements of a list.
_ELEMENT: Final = re.compile(r'\s*,\s*["\[{\d\-tfn]')
_KEY_END: Final = re.compile(r"\s*:")
#: Closing brackets, after which the text ends or another member, element or event follows.
_CLOSING: Final = re.compile(r"\s*(?:$|[}\]]+(?:\s*[}\]])*\s*(?:,|\{|$))")


def escape_inner_quotes(text: str) -> str:
    """Escape every quote inside a string that can't end it, since no valid JSON follows."""
    out: list[str] = []
    stack: list[str] = []
    in_string = is_key = key_next = False
    start = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if in_string:
            if token == '"':
                if _ends(text, match.end(), is_key=is_key, in_list=bool(stack) and stack[-1] == "["):
                    in_string = False
                else:
                    out.append(text[start : match.start()] + "\\")
                    start = match.start()
        elif token == '"':
            in_string, is_key, key_next = True, key_next, False
        elif token in "{[":
            stack.append(token)
            key_next = token == "{"
        elif token == ",":
            key_next = bool(stack) and stack[-1] == "{"
        elif token in "}]" and stack:
            stack.pop()
    return "".join(out) + text[start:]


def _ends(text: str, index: int, *, is_key: bool, in_list: bool) -> bool:
    """Whether a quote right before `index` can end its string."""
    if is_key:
        return _KEY_END.match(text, index) is not None
    follower = _ELEMENT if in_list else _MEMBER
    return follower.match(text, index) is not None or _CLOSING.match(text, index) is not None
