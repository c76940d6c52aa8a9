"""Leave out calls of `gc.collect` in the loop."""

from __future__ import annotations

import gc
from typing import Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _collect(generation: int = 2) -> int:
    del generation
    return 0


def _skip() -> None:
    gc.collect = _collect


#: Calls within the steps of the warm-up from which it is a habit.
_OFTEN: Final = 3


def _fits(seen: Seen) -> str:
    return "" if seen.calls.get("gc.collect") else said("the program does not call gc.collect in its loop")


REMEDY = OutsideRemedy(
    name="no-gc-collect",
    title="Leave out gc.collect() in the loop",
    rules=("HST005", "HST012", "HST016", "HST013"),
    numbers="exact",
    changes="nothing; garbage in circles is freed later",
    fits=_fits,
    evident=lambda seen: seen.calls.get("gc.collect", 0) >= _OFTEN,
    first_step=_skip,
    write=lambda _: ("# remove gc.collect() from the loop",),
)
