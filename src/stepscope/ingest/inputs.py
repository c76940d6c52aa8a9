"""What recordings hold, by the name of their reader; quick to import, unlike the readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.model.source import Source
from stepscope.readers.ascend.inputs import SOURCE as ASCEND
from stepscope.readers.kineto.inputs import CHROME
from stepscope.readers.kineto.inputs import SOURCE as KINETO
from stepscope.readers.memsnapshot.inputs import SOURCE as MEMSNAPSHOT
from stepscope.readers.nsight.inputs import SOURCE as NSIGHT

SOURCES: Final[Mapping[str, Source]] = {
    "ascend": ASCEND, "chrome": CHROME, "kineto": KINETO, "memsnapshot": MEMSNAPSHOT, "nsight": NSIGHT,
}  # fmt: skip
_OTHER: Final = Source()


def source_of(reader: str) -> Source:
    """What recordings of a reader hold; of a reader that is not known, nothing special."""
    return SOURCES.get(reader, _OTHER)
