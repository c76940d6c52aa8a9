"""Exchange gradients in buckets of the default size, or of four times as much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

#: MiB; the first is what torch takes unless told otherwise.
_USUAL: Final = 25.0
_LARGE: Final = 100.0


def _fits(seen: Seen) -> str:
    return "" if seen.of("ddp") else "the program has no DistributedDataParallel"


def _edit(arguments: Mapping[str, Any], seen: Seen) -> Mapping[str, Any]:
    del seen
    size = arguments.get("bucket_cap_mb") or _USUAL
    if size >= _LARGE:
        return {}
    return {"bucket_cap_mb": int(_USUAL if size < _USUAL else _LARGE)}


REMEDY = OutsideRemedy(
    name="ddp-bucket-size",
    title="Exchange gradients in larger buckets",
    rules=("COM001", "COM002", "COM003", "COM008"),
    numbers="rounding",
    changes="the order in which gradients of ranks are added",
    fits=_fits,
    evident=lambda seen: any((one.arguments.get("bucket_cap_mb") or _USUAL) < _USUAL for one in seen.of("ddp")),
    edits={"ddp": _edit},
)
