"""Take host memory from tcmalloc."""

from __future__ import annotations

from stepscope.language import said
from stepscope.trying.preloading import library, preloaded
from stepscope.trying.remedy import OutsideRemedy

_FILES = ("libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libtcmalloc.so")

REMEDY = OutsideRemedy(
    name="tcmalloc",
    title="Take host memory from tcmalloc",
    rules=("HST003", "HST007", "HST012", "HST013", "DAT004"),
    numbers="exact",
    changes="nothing",
    fits=lambda _: "" if library(_FILES) else said("tcmalloc is not installed on this machine"),
    variables=lambda seen: preloaded(library(_FILES), seen),
    excludes=("jemalloc",),
)
