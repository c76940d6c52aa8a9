"""Why a process can't be asked for a recording, in a sentence, and what to do."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.process.system import lives
from stepscope.record.settings import VARIABLE, RecordSettings

_START: Final = said("start it with stepscope record --wait, or prepare its shell with stepscope attach --prepare")


def refusal(pid: int) -> UserError:
    """Why a process that is not askable is not."""
    if not lives(pid):
        return UserError(
            said("there is no process {pid}", pid=pid), hint="see ps for its number; in a container, attach within it"
        )
    name = _text(pid, "comm").strip() or "?"
    owner = _owner(pid)
    if owner is not None and owner != os.geteuid():
        return UserError(
            said("process {pid} ({name}) is another user's", pid=pid, name=name), hint="attach as that user"
        )
    inside = re.search(r"^NSpid:(.*)$", _text(pid, "status"), re.MULTILINE)
    if inside is not None and len(inside[1].split()) > 1:
        message = said("process {pid} ({name}) runs in a container", pid=pid, name=name)
        return UserError(message, hint="attach within the container")
    if python_of(pid) is None:
        message = said("process {pid} ({name}) is no Python", pid=pid, name=name)
        return UserError(message, hint="give the number of the Python process of a rank")
    settings = settings_of(pid)
    if settings is None:
        return UserError(said("process {pid} was not prepared to be asked", pid=pid), hint=_START)
    if not settings.control:
        return UserError(
            said(
                "process {pid} was started by stepscope record without --wait or --watch, and records what that said",
                pid=pid,
            ),
            hint=_START,
        )
    return UserError(
        said("process {pid} has made no step yet, and nor has any process below it", pid=pid),
        hint="wait until its loop runs; a step is an update of an optimizer, a batch of a loader or a call of a model",
    )


def python_of(pid: int) -> tuple[int, int] | None:
    """The version of Python that a process runs, (0, 0) if it is not known; None if it runs none."""
    program = ""
    with contextlib.suppress(OSError):
        program = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115
    for text in (program, _text(pid, "maps")):
        if found := re.search(r"python(\d)\.(\d+)", text):
            return int(found[1]), int(found[2])
    return (0, 0) if "python" in program else None


def variables_of(pid: int) -> dict[str, str]:
    """The environment that a process of this user was started with."""
    found = {}
    for entry in _text(pid, "environ").split("\0"):
        name, equals, value = entry.partition("=")
        if equals:
            found[name] = value
    return found


def settings_of(pid: int) -> RecordSettings | None:
    """What a process was told to record when it was started."""
    with contextlib.suppress(ValueError, TypeError):
        if text := variables_of(pid).get(VARIABLE):
            return RecordSettings.of(text)
    return None


def _owner(pid: int) -> int | None:
    """The user of a process; None where the system does not tell."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}").stat().st_uid
    return None


def _text(pid: int, name: str) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes().decode("utf-8", "replace")
    return ""
