"""The process: its command line and its end."""

from __future__ import annotations

import sys

from stepscope.cli.interrupts import end_when_interrupted
from stepscope.model.process.leaving import wait_if_leaving


def entry() -> None:
    """Run the command line of this process and end it."""
    end_when_interrupted(debug="--debug" in sys.argv)
    from stepscope.cli.speed import end_at_once, quicken_process

    quicken_process()
    # Importing the commands takes longer than what interrupts them.
    from stepscope.cli.main import main

    try:
        main()
    except SystemExit as leaving:
        wait_if_leaving()
        if isinstance(leaving.code, int):
            end_at_once(leaving.code)
        raise
