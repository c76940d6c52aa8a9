"""Take host memory from jemalloc."""

from __future__ import annotations

from stepscope.language import said
from stepscope.trying.preloading import library, preloaded
from stepscope.trying.remedy import OutsideRemedy

_FILES = ("libjemalloc.so.2", "libjemalloc.so.1", "libjemalloc.so")

REMEDY = OutsideRemedy(
    name="jemalloc",
    title="Take host memory from jemalloc",
    rules=("HST003", "HST007", "HST012", "HST013", "DAT004"),
    numbers="exact",
    changes="nothing",
    fits=lambda _: "" if library(_FILES) else said("jemalloc is not installed on this machine"),
    variables=lambda seen: preloaded(library(_FILES), seen),
    excludes=("tcmalloc",),
)
