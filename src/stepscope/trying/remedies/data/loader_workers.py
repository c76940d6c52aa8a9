"""Load batches in worker processes, ahead of the loop, or in more of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

#: More workers than this rarely help, and each takes memory.
_MOST: Final = 8


def _fits(seen: Seen) -> str:
    loaders = seen.of("loader")
    if not loaders:
        return said("the program has no DataLoader")
    few = [one for one in loaders if (one.arguments.get("num_workers") or 0) < _workers(seen)]
    if not few:
        return said("every DataLoader has a worker per core")
    if all(one.facts.get("iterable") for one in few):
        return said("each worker would read all of an IterableDataset, so that samples would come several times")
    return ""


def _workers(seen: Seen) -> int:
    return min(_MOST, seen.cores_per_rank)


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    if (arguments.get("num_workers") or 0) >= _workers(seen) or arguments.get("iterable"):
        return {}
    return {"num_workers": _workers(seen), "persistent_workers": True}


def _most(seen: Seen) -> float:
    """Of a step that waits so long, what so many workers on so many cores leave of it.

    A step takes as long as what it does besides waiting; as a batch takes one worker, by the number of workers; and as
    its work takes the cores. A loop that loads by itself waits as long as a batch takes; one that waits for n workers
    takes as long as n of them need for a batch each.
    """
    if not seen.waits:
        return 1.0
    before = max((one.arguments.get("num_workers") or 0 for one in seen.of("loader")), default=0)
    batch_share = before or seen.waits
    work = 0.0 if before else seen.running / seen.cores_per_rank
    return 1.0 - max(1.0 - seen.waits, batch_share / _workers(seen), work)


REMEDY = OutsideRemedy(
    name="loader-workers",
    title="Load batches in worker processes, one per core",
    rules=("DAT001", "DAT004", "DAT005", "DAT006", "DAT007", "HST013", "HST016"),
    numbers="random",
    changes="random numbers that samples draw come from the workers' own streams",
    fits=_fits,
    most=_most,
    edits={"loader": _edit},
)
