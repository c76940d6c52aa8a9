"""Places in source code, as frames of call stacks name them, in the form that people and editors use."""

from __future__ import annotations

import re
from typing import Final

_FRAME: Final = re.compile(r"(?P<path>.*?)\((?P<line>-?\d+)\)(?:: (?P<function>.*))?", re.S)


def short_place(frame: str) -> str:
    """`modules/softmax.py:14 (forward)` for `/home/me/modules/softmax.py(14): forward`; other texts as they are.

    Of the path its last folder is left; a line below 1 is none.
    """
    found = _FRAME.fullmatch(frame)
    if found is None or not ("/" in found["path"] or "." in found["path"]):
        return frame
    file = "/".join(found["path"].replace("\\", "/").rsplit("/", 2)[-2:])
    line = f":{found['line']}" if int(found["line"]) > 0 else ""
    return f"{file}{line}" + (f" ({found['function']})" if found["function"] else "")
