"""Update parameters in lists instead of one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    made = [one for one in seen.of("optimizer") if "foreach" in one.arguments]
    if not made:
        return said("no optimizer that can work on lists was made")
    done = all(one.arguments["foreach"] or one.arguments.get("fused") for one in made)
    return said("the optimizer works on lists, or is fused") if done else ""


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    del seen
    if "foreach" not in arguments or arguments["foreach"] or arguments.get("fused"):
        return {}
    return {"foreach": True}


REMEDY = OutsideRemedy(
    name="foreach-optimizer",
    title="Update parameters in lists instead of one by one",
    rules=("HST008", "ASC005", "HST002"),
    numbers="rounding",
    changes="the last digits of updates",
    fits=_fits,
    evident=lambda seen: any(one.arguments.get("foreach") is False for one in seen.of("optimizer")),
    edits={"optimizer": _edit},
    excludes=("fused-optimizer",),
)
