"""Keep objects of the program's start out of garbage collection."""

from __future__ import annotations

import gc

from stepscope.trying.remedy import OutsideRemedy


def _freeze() -> None:
    gc.collect()
    gc.freeze()


REMEDY = OutsideRemedy(
    name="gc-freeze",
    title="Keep objects of the start out of garbage collection",
    rules=("HST005", "HST012"),
    numbers="exact",
    changes="nothing",
    first_step=_freeze,
    write=lambda _: ("gc.collect(); gc.freeze()  # before the loop",),
)
