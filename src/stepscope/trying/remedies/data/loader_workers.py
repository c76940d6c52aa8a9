"""Load batches in worker processes, ahead of the loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

#: More workers than this rarely help, and each takes memory.
_MOST: Final = 8


def _fits(seen: Seen) -> str:
    loaders = seen.of("loader")
    if not loaders:
        return "the program has no DataLoader"
    if all(one.arguments.get("num_workers") for one in loaders):
        return "every DataLoader has workers"
    if all(one.facts.get("iterable") for one in loaders if not one.arguments.get("num_workers")):
        return "each worker would read all of an IterableDataset, so that samples would come several times"
    return ""


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    if arguments.get("num_workers") or arguments.get("iterable"):
        return {}
    return {"num_workers": min(_MOST, seen.cores_per_rank), "persistent_workers": True}


REMEDY = OutsideRemedy(
    name="loader-workers",
    title="Load batches in worker processes",
    rules=("DAT001", "DAT004", "DAT005", "DAT006", "DAT007", "HST013", "HST016"),
    numbers="random",
    changes="random numbers that samples draw come from the workers' own streams",
    fits=_fits,
    edits={"loader": _edit},
)
