"""The closed vocabulary of the canonical model; every vendor's events map onto it."""

from __future__ import annotations

from typing import Final

#: What an event is. Host categories first, then what runs on a device, then the rest.
CATEGORIES: Final = (
    "step",
    "annotation",
    "module",
    "op",
    "python",
    "runtime",
    "sync",
    "launch",
    "queue",
    "kernel",
    "collective",
    "copy",
    "set",
    "gc",
    "dataloader",
    "overhead",
    "other",
)

#: What kind of work a row of `kernels` is.
KERNEL_KINDS: Final = ("compute", "comm", "copy", "set", "sync")

#: Where a track lives.
TRACK_KINDS: Final = ("host", "device", "counter")
