"""Bind threads to cores near their NPU."""

from __future__ import annotations

from typing import Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_NAME: Final = "CPU_AFFINITY_CONF"
_VALUE: Final = "1"


def _fits(seen: Seen) -> str:
    if seen.device != "npu":
        return said("the program uses no NPU")
    return said("{name} is {value}", name=_NAME, value=_VALUE) if seen.environment.get(_NAME) == _VALUE else ""


REMEDY = OutsideRemedy(
    name="npu-cpu-affinity",
    title="Bind threads to cores near their NPU",
    rules=("ASC004", "SYS001", "HST012"),
    numbers="exact",
    changes="nothing",
    fits=_fits,
    variables=lambda _: {_NAME: _VALUE},
)
