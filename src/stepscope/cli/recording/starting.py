"""What starts a program that is given as a Python file or as a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path


def command_of(program: Sequence[str]) -> list[str]:
    """The command to start: a Python file is run by this Python, unless it says itself what runs it.

    Args:
        program: The file or the command, and its arguments.
    """
    first = Path(program[0])
    if first.suffix != ".py" or not first.is_file():
        return list(program)
    try:
        with first.open("rb") as file:
            names_its_own = file.read(2) == b"#!"
    except OSError:
        names_its_own = False  # Python says what is wrong with it.
    if names_its_own and os.access(first, os.X_OK):
        # Without a folder it would be looked for among installed programs.
        return [str(first) if first.parent != Path() else f".{os.sep}{first}", *program[1:]]
    return [sys.executable, *program]
