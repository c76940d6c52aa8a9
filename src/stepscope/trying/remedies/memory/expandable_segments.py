"""Let the allocator grow the segments that it has."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_BY_DEVICE = {"cuda": ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"), "npu": ("PYTORCH_NPU_ALLOC_CONF",)}


def _fits(seen: Seen) -> str:
    names = _BY_DEVICE.get(seen.device)
    if names is None:
        return said("the program uses no device whose allocator has segments")
    given = any("expandable_segments:True" in seen.environment.get(one, "") for one in names)
    return said("it is set") if given else ""


def _variables(seen: Seen) -> Mapping[str, str | None]:
    """Set it beside what is set; older versions of torch know the second name only."""
    names = _BY_DEVICE.get(seen.device, ())
    given = next((seen.environment[one] for one in names if seen.environment.get(one)), "")
    kept = [one for one in given.split(",") if one and not one.startswith("expandable_segments")]
    return dict.fromkeys(names, ",".join([*kept, "expandable_segments:True"]))


REMEDY = OutsideRemedy(
    name="expandable-segments",
    title="Let the allocator grow the segments that it has",
    rules=("MEM001", "MEM002", "MEM003", "MEM004", "MEM010", "MEM011", "MEM019", "ASC009", "ASC015"),
    numbers="exact",
    changes="nothing",
    fits=_fits,
    variables=_variables,
)
