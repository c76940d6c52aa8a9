"""Where in the program's own files something is done."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Final

#: Folders whose files are no part of the program.
_OWN: Final = __file__.removesuffix(os.path.join("trying", "job", "place.py"))  # noqa: PTH118
_OTHERS: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}", _OWN)


def place_of_caller() -> tuple[str, int]:
    """File and line of the innermost frame that lies in the program's own files; ("", 0) if none does."""
    library = os.path.dirname(os.__file__)  # noqa: PTH120 - called while the program constructs objects
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        inside = any(one in file for one in _OTHERS) or file.startswith((library, "<"))
        if not inside:
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0
