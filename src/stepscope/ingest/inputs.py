"""`SourceTraits` of each reader by name, without importing the readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.model.source import SourceTraits
from stepscope.readers.ascend import inputs as ascend
from stepscope.readers.counters import inputs as counters
from stepscope.readers.kineto import inputs as kineto
from stepscope.readers.machine import inputs as machine
from stepscope.readers.memsnapshot import inputs as memsnapshot
from stepscope.readers.nsight import inputs as nsight
from stepscope.readers.xplane import inputs as xplane

SOURCES: Final[Mapping[str, SourceTraits]] = {
    ascend.NAME: ascend.SOURCE,
    counters.NAME: counters.SOURCE,
    kineto.CHROME_NAME: kineto.CHROME,
    kineto.NAME: kineto.SOURCE,
    machine.NAME: machine.SOURCE,
    memsnapshot.NAME: memsnapshot.SOURCE,
    nsight.NAME: nsight.SOURCE,
    xplane.NAME: xplane.SOURCE,
}
_OTHER: Final = SourceTraits()


def source_of(reader: str) -> SourceTraits:
    """The `SourceTraits` of a reader; an empty one for an unknown reader."""
    return SOURCES.get(reader, _OTHER)
