"""Exchange gradients in buckets of the default size, or of four times as much."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

#: MiB; the first is what torch takes unless told otherwise.
_USUAL: Final = 25.0
_LARGE: Final = 100.0


def _fits(seen: Seen) -> str:
    return "" if seen.of("ddp") else said("the program has no DistributedDataParallel")


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    del seen
    size = arguments.get("bucket_cap_mb") or _USUAL
    if size >= _LARGE:
        return {}
    return {"bucket_cap_mb": int(_USUAL if size < _USUAL else _LARGE)}


def _predicts(seen: Seen) -> float | None:
    """Of what small collectives cost, as much as there are fewer: each takes about as long, whatever its size is."""
    fewer = 0
    for one in seen.of("ddp"):
        size = _edit(one.arguments, seen).get("bucket_cap_mb")
        if size != _USUAL or not one.facts.get("bytes"):
            return None
        fewer += one.count * ceil(one.facts["bytes"] / (size << 20))
    # With accumulated gradients each micro-batch has its collectives.
    fewer *= max(1, seen.backwards)
    return seen.exchange * (1 - fewer / seen.exchanges) if 0 < fewer < seen.exchanges else None


REMEDY = OutsideRemedy(
    name="ddp-bucket-size",
    title="Exchange gradients in larger buckets",
    rules=("COM001", "COM002", "COM003", "COM008"),
    numbers="rounding",
    changes="the order in which gradients of ranks are added",
    fits=_fits,
    evident=lambda seen: any((one.arguments.get("bucket_cap_mb") or _USUAL) < _USUAL for one in seen.of("ddp")),
    predicts=_predicts,
    edits={"ddp": _edit},
)
