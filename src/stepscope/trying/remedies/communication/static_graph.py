"""Tell DistributedDataParallel that every step uses the same parameters."""

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
    return said("the graph is static") if all(one.arguments.get("static_graph") for one in made) else ""


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    del seen
    return {} if arguments.get("static_graph") else {"static_graph": True, "find_unused_parameters": False}


REMEDY = OutsideRemedy(
    name="ddp-static-graph",
    title="Say that every step uses the same parameters",
    rules=("COM001", "COM008", "HST004", "CLU004"),
    numbers="rounding",
    changes="gradients, where steps use different parameters",
    fits=_fits,
    edits={"ddp": _edit},
)
