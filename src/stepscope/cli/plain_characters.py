"""Characters of stepscope's own texts for terminals that can't show them."""

from __future__ import annotations

import codecs
import sys
from typing import IO, Any, Final

_NAME: Final = "stepscope.plain"
#: As wide as what they stand for wherever that is one column of a table.
_PLAIN: Final = {
    "·": "-", "–": "-", "—": "-", "−": "-", "→": "->", "×": "x", "µ": "u", "μ": "u", "…": "~", "²": "2", "≥": ">=",
    "≤": "<=", "±": "+-", "≈": "~", "“": '"', "”": '"', "’": "'", "✓": "+", "✗": "x", "▲": "!", "│": "|", "─": "-",
    "█": "#", "▓": "=", "▒": "-", "├": "|", "└": "`",
}  # fmt: skip


def show_plainly(*, recorded: bool = False) -> None:
    r"""Have standard output and error write what their encoding lacks in ASCII, instead of failing.

    Args:
        recorded: What follows is content of a recording, which stays exact: what the encoding lacks is written as
            escapes such as `\xb7`.
    """
    for stream in (sys.stdout, sys.stderr):
        _write_errors_as(stream, "backslashreplace" if recorded else _NAME)


def _write_errors_as(stream: IO[Any], errors: str) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure:
        reconfigure(errors=errors)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    shown = [_PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode("ascii") for one in missing]
    return "".join(shown), error.end


codecs.register_error(_NAME, _plain)
