"""Larger buffers for HCCL."""

from __future__ import annotations

from typing import Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_NAME: Final = "HCCL_BUFFSIZE"
_VALUE: Final = "400"


def _fits(seen: Seen) -> str:
    if not (seen.device == "npu" and seen.world > 1):
        return said("HCCL is for several ranks with NPUs")
    return said("{name} is {value}", name=_NAME, value=_VALUE) if seen.environment.get(_NAME) == _VALUE else ""


REMEDY = OutsideRemedy(
    name="hccl-buffers",
    title="Larger buffers for HCCL",
    rules=("ASC010", "COM001", "COM002"),
    numbers="exact",
    changes="nothing",
    fits=_fits,
    variables=lambda _: {_NAME: _VALUE},
)
