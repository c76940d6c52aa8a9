"""How what a recording lacks is recorded, by the reader of the recording; quick to import, unlike the readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.model.inputs import Input
from stepscope.readers.ascend.inputs import INPUTS as ASCEND
from stepscope.readers.kineto.inputs import INPUTS as KINETO
from stepscope.readers.memsnapshot.inputs import INPUTS as MEMSNAPSHOT
from stepscope.readers.nsight.inputs import INPUTS as NSIGHT

#: Of each reader, the kinds of input that its recordings may hold, and how each is recorded.
HOW_TO_RECORD: Final[Mapping[str, Mapping[Input, str]]] = {
    "ascend": ASCEND, "kineto": KINETO, "memsnapshot": MEMSNAPSHOT, "nsight": NSIGHT,
}  # fmt: skip
