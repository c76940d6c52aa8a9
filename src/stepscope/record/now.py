"""Ask for a recording from within the program."""

from __future__ import annotations

import sys
from typing import Any


def record_now() -> bool:
    """Record the next steps of this process, in a program that runs below `stepscope record`.

    Returns:
        Whether it does; false in a program that was started without it.
    """
    entered: Any = sys.modules.get("stepscope.record.job.entering")
    recorder = entered.current() if entered is not None else None
    return recorder is not None and bool(recorder.ask())
