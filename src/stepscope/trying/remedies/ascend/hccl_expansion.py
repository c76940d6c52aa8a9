"""Let vector cores do the collectives."""

from __future__ import annotations

from typing import Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_NAME: Final = "HCCL_OP_EXPANSION_MODE"
_VALUE: Final = "AIV"


def _fits(seen: Seen) -> str:
    if not (seen.device == "npu" and seen.world > 1):
        return said("HCCL is for several ranks with NPUs")
    return said("{name} is {value}", name=_NAME, value=_VALUE) if seen.environment.get(_NAME) == _VALUE else ""


REMEDY = OutsideRemedy(
    name="hccl-aiv",
    title="Let vector cores do the collectives",
    rules=("ASC010", "COM001", "COM003", "COM008"),
    numbers="rounding",
    changes="the order in which ranks' values are added",
    fits=_fits,
    variables=lambda _: {_NAME: _VALUE},
)
