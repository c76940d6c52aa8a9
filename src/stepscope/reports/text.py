"""Text from recordings, made safe to show, since names may hold anything, and short."""

from __future__ import annotations

import re
from typing import Final

from stepscope.language import Said

#: Control characters (escape sequences of terminals begin with one), characters that reorder or hide text, and
#: halves of characters.
_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_SHORT: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str) -> str:
    r"""The text with everything that does not show written as an escape, such as `\x1b` or `\u202e`."""
    if isinstance(text, Said):
        return text.each(visible)
    return _UNSAFE.sub(lambda match: _escape(match.group()), text)


def cut(text: str, width: int) -> str:
    """At most `width` cells of a terminal, the last one an ellipsis if something is missing."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)) + "…"


def _escape(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def module_class(name: str) -> str:
    """`Linear` for the instance `Linear_12` of a module."""
    return re.sub(r"_\d+$", "", name)
