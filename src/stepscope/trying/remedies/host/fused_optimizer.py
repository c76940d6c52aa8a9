"""Update all parameters in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    made = seen.of("optimizer")
    if not made:
        return said("no optimizer of torch.optim was made")
    if all("fused" not in one.arguments for one in made):
        return said("{optimizer} has no fused version", optimizer=made[0].interface)
    return said("the optimizer is fused") if all(one.arguments.get("fused", True) for one in made) else ""


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    del seen
    if "fused" not in arguments or arguments["fused"] or arguments.get("differentiable"):
        return {}
    return {"fused": True, **({"foreach": None} if arguments.get("foreach") is not None else {})}


REMEDY = OutsideRemedy(
    name="fused-optimizer",
    title="Update all parameters in one pass",
    rules=("HST008", "ASC005", "HST001", "HST002", "HST003", "HST004", "HST007"),
    numbers="rounding",
    changes="the last digits of updates",
    fits=_fits,
    edits={"optimizer": _edit},
    excludes=("foreach-optimizer",),
)
