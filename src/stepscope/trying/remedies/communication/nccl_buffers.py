"""Larger buffers and more channels for NCCL."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_VALUES = {"NCCL_BUFFSIZE": "8388608", "NCCL_MIN_NCHANNELS": "16"}


def _fits(seen: Seen) -> str:
    if seen.device != "cuda" or seen.world < 2:
        return said("NCCL is for several ranks with GPUs")
    return said("they are set") if all(name in seen.environment for name in _VALUES) else ""


def _variables(seen: Seen) -> Mapping[str, str | None]:
    return {name: value for name, value in _VALUES.items() if name not in seen.environment}


REMEDY = OutsideRemedy(
    name="nccl-buffers",
    title="Larger buffers and more channels for NCCL",
    rules=("COM001", "COM002", "COM010"),
    numbers="rounding",
    changes="the order in which ranks' values are added",
    fits=_fits,
    variables=_variables,
)
