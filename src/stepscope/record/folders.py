"""The folder of a recording: looked at before the program starts, and empty of whatever is none afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.triggers.request import REASON, WATCHED

#: Holds a folder per launcher, in which the processes of its job report; the job's machines share it as the recordings.
REPORTS: Final = ".reports"


@contextmanager
def recording_folder(given: Path | None, *, watched: bool = False) -> Iterator[tuple[Path, Path]]:
    """A folder to record into, and one in it for reports, which is gone afterwards, as both are if nothing is recorded.

    Args:
        given: The folder; named after the time if none is given.
        watched: It may hold what a watched job leaves, such as the same job before it was started again.

    Raises:
        UserError: It can't be written, or holds something.
    """
    folder = (given or Path(time.strftime("stepscope-%Y%m%d-%H%M%S"))).absolute()
    reports = folder / REPORTS / f"{socket.gethostname().split('.')[0] or 'host'}_{os.getpid()}"
    if folder.exists() and not folder.is_dir():
        raise UserError(said("{folder} is a file", folder=folder), hint="give --output a folder")
    if folder.is_dir() and any(not _is_ours(one, watched) for one in folder.iterdir()):
        raise UserError(
            said("{folder} is not empty", folder=folder),
            hint="give --output a folder of its own, so that nothing else is analysed",
        )
    made = not folder.exists()
    try:
        reports.mkdir(parents=True, exist_ok=True)
        (reports / "written").touch()
    except OSError as error:
        raise UserError(
            said("{folder} can't be written ({strerror})", folder=folder, strerror=error.strerror),
            hint="give --output a folder that can be",
        ) from error
    try:
        yield folder, reports
    finally:
        shutil.rmtree(reports, ignore_errors=True)
        with contextlib.suppress(OSError):
            # Another launcher may be recording into it.
            reports.parent.rmdir()
            if made:
                folder.rmdir()


def _is_ours(path: Path, watched: bool) -> bool:
    return path.name == REPORTS or (watched and (path.name == WATCHED or (path / REASON).exists()))
