"""Have programs wait to be asked without starting them below `stepscope record`."""

from __future__ import annotations

import os
import shlex
import sysconfig
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.job.watch.control import waiting_settings
from stepscope.record.launch import INJECTED
from stepscope.record.settings import VARIABLE

#: A line that begins with `import` is run when Python starts (https://docs.python.org/3/library/site.html).
_LINE: Final = (
    "import importlib.util; importlib.util.find_spec('stepscope') and __import__('stepscope.record.inject.waiting')\n"
)
_NAME: Final = "stepscope-attach.pth"


def prepared(what: str, control: Path, packages: Path | None = None) -> str:
    """Prepare a shell or this Python, or take that back.

    Args:
        what: `shell`, `python` or `undo`.
        control: The folder in which processes look whether they are asked.
        packages: Folder of this Python's packages; where it is if not given.

    Returns:
        What to print.

    Raises:
        UserError: It is none of these, or the folder can't be written.
    """
    place = (packages or Path(sysconfig.get_path("purelib"))) / _NAME
    if what == "shell":
        paths = [str(INJECTED), *filter(None, [os.environ.get("PYTHONPATH")])]
        text = waiting_settings(control).text()
        return f"export PYTHONPATH={shlex.quote(os.pathsep.join(paths))} {VARIABLE}={shlex.quote(text)}"
    if what not in ("python", "undo"):
        raise UserError(said("--prepare {what} is nothing to prepare", what=what), hint="give shell, python or undo")
    try:
        if what == "undo":
            place.unlink(missing_ok=True)
            return said("{place} is gone: programs that start from now on do not wait to be asked", place=place)
        place.write_text(_LINE, encoding="utf-8")
    except OSError as error:
        message = said("{place} can't be changed ({strerror})", place=place, strerror=error.strerror)
        raise UserError(message, hint="give --prepare shell") from error
    return said(
        "programs of this Python that start from now on and import torch wait to be asked: {place}", place=place
    )
