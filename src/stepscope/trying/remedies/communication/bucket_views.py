"""Let gradients lie in the buckets in which they are exchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    made = seen.of("ddp")
    if not made:
        return said("the program has no DistributedDataParallel")
    return said("gradients are views") if all(one.arguments.get("gradient_as_bucket_view") for one in made) else ""


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    del seen
    return {} if arguments.get("gradient_as_bucket_view") else {"gradient_as_bucket_view": True}


REMEDY = OutsideRemedy(
    name="ddp-bucket-views",
    title="Let gradients lie in the buckets that are exchanged",
    rules=("COM001", "COM008", "MEM009", "CPY009", "KRN007"),
    numbers="exact",
    changes="nothing",
    fits=_fits,
    edits={"ddp": _edit},
)
