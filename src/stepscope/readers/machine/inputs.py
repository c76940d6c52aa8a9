"""What these files are: they add to a recording, and are none by themselves."""

from __future__ import annotations

from typing import Final

from stepscope.model.source import SourceTraits

NAME: Final = "machine"
SOURCE: Final = SourceTraits(
    inputs={"machine": "record with stepscope record, a job that goes on for some seconds after the recorded steps"},
    timed=False,
    companion=True,
    marking="",
    marking_elsewhere="",
)
