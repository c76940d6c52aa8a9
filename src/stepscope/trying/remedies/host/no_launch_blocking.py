"""Let launches return before the device has done them."""

from __future__ import annotations

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_VARIABLES = ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING")


def _set(seen: Seen) -> list[str]:
    return [name for name in _VARIABLES if seen.environment.get(name, "0") not in ("", "0")]


REMEDY = OutsideRemedy(
    name="no-launch-blocking",
    title="Let launches return before the device has done them",
    rules=("SYN005", "SYN001", "SYN004", "ASC008", "ASC014", "HST001"),
    numbers="exact",
    changes="nothing",
    fits=lambda seen: "" if _set(seen) else said("no variable makes launches wait"),
    evident=lambda seen: bool(_set(seen)),
    variables=lambda seen: dict.fromkeys(_set(seen)),
    write=lambda seen: tuple(f"unset {name}" for name in _set(seen)),
)
