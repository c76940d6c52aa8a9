"""What these files are: they add to a recording, and are none by themselves."""

from __future__ import annotations

from typing import Final

from stepscope.model.source import SourceTraits

NAME: Final = "machine"
SOURCE: Final = SourceTraits(timed=False, companion=True, marking="", marking_elsewhere="")
