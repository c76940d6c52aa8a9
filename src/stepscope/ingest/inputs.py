"""What recordings hold, by the name of their reader; quick to import, unlike the readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.model.source import Source
from stepscope.readers.ascend import inputs as ascend
from stepscope.readers.kineto import inputs as kineto
from stepscope.readers.memsnapshot import inputs as memsnapshot
from stepscope.readers.nsight import inputs as nsight

SOURCES: Final[Mapping[str, Source]] = {
    ascend.NAME: ascend.SOURCE,
    kineto.CHROME_NAME: kineto.CHROME,
    kineto.NAME: kineto.SOURCE,
    memsnapshot.NAME: memsnapshot.SOURCE,
    nsight.NAME: nsight.SOURCE,
}
_OTHER: Final = Source()


def source_of(reader: str) -> Source:
    """What recordings of a reader hold; of a reader that is not known, nothing special."""
    return SOURCES.get(reader, _OTHER)
