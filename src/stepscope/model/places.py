"""Source locations in stack frames, formatted as editors show them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_FRAME: Final = re.compile(r"(?P<path>.*?)\((?P<line>-?\d+)\)(?:: (?P<function>.*))?", re.S)


#: The function of PyTorch that the program called, and operators of compiled code, from inside out.
_FUNCTIONAL: Final = re.compile(r"/torch/nn/functional\.py\(\d+\): (\w+)")
_OPERATOR: Final = re.compile(r"at::_ops::(\w+)::call\b")


def operator_within(frames: Sequence[str] | None) -> str | None:
    """The PyTorch function that user code called, from a call stack with the innermost frame first; None if none."""
    found = None
    for frame in frames or ():
        if match := _FUNCTIONAL.search(frame):
            return match[1].lstrip("_")
        if match := _OPERATOR.search(frame):
            found = match[1]
        elif found and ".py(" in frame:
            break
    return found


def source_line(frame: str) -> str:
    """`modules/softmax.py:14` for `/home/me/modules/softmax.py(14): forward`."""
    return short_place(frame).partition(" (")[0]


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
