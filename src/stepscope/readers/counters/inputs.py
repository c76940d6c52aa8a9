"""What these files are: they add to a recording; by themselves they are launches without their times."""

from __future__ import annotations

from typing import Final

from stepscope.model.source import SourceTraits

NAME: Final = "kernel-counters"
SOURCE: Final = SourceTraits(
    inputs={"device": "profile a kernel with ncu, msprof op or rocprof-compute"},
    companion=True,
    alone=True,
    marking="",
    marking_elsewhere="",
    profiler="the kernel profiler",
)
