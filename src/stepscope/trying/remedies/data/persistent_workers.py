"""Keep a loader's workers from one epoch to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    loaders = [one for one in seen.of("loader") if one.arguments.get("num_workers")]
    if not loaders:
        return said("no DataLoader of the program has workers")
    return said("workers are persistent") if all(one.arguments.get("persistent_workers") for one in loaders) else ""


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    del seen
    return {"persistent_workers": True} if arguments.get("num_workers") else {}


REMEDY = OutsideRemedy(
    name="persistent-workers",
    title="Keep the loader's workers between epochs",
    rules=("DAT001", "DAT002", "DAT005"),
    numbers="random",
    changes="random numbers that samples draw from the second epoch on",
    fits=_fits,
    edits={"loader": _edit},
)
