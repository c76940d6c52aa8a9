"""What a `.pth` file has Python import when it starts: wait for `stepscope attach`; idle where torch is never imported.

Processes below `stepscope record` do what that says.
"""

from __future__ import annotations

import contextlib
import os


def _enter() -> None:
    from stepscope.record.job.entering import enter
    from stepscope.record.job.watch.control import control_folder, waiting_settings

    with contextlib.suppress(OSError):
        enter(waiting_settings(control_folder()))


if not os.environ.get("STEPSCOPE_RECORD"):
    from stepscope.record.job.imports import wait_for

    wait_for("torch", _enter)
