"""The folder in which processes of this user can be asked for recordings, by this user alone."""

from __future__ import annotations

from pathlib import Path

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.job.watch import control
from stepscope.record.retold import retold


def control_folder() -> Path:
    """The folder, made if there is none.

    Raises:
        UserError: It can't be made, or belongs to somebody else, or is open to others.
    """
    try:
        return control.control_folder()
    except OSError as error:
        raise UserError(
            said(
                "{folder} can't be used to ask processes ({why})",
                folder=error.filename,
                why=retold(error.strerror or str(error)),
            ),
            hint="set TMPDIR to a folder of yours",
        ) from error
