"""Let each worker of a loader prepare more batches ahead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_AHEAD: Final = 8


def _fits(seen: Seen) -> str:
    if not any(one.arguments.get("num_workers") for one in seen.of("loader")):
        return said("no DataLoader of the program has workers")
    return ""


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    del seen
    if not arguments.get("num_workers") or (arguments.get("prefetch_factor") or 2) >= _AHEAD:
        return {}
    return {"prefetch_factor": _AHEAD}


REMEDY = OutsideRemedy(
    name="loader-prefetch",
    title="Prepare more batches ahead in each worker",
    rules=("DAT001", "DAT005"),
    numbers="exact",
    changes="nothing",
    fits=_fits,
    edits={"loader": _edit},
    # What workers prepared during a slow start is used up first.
    settles=3 * _AHEAD,
)
