"""What these recordings are called."""

from __future__ import annotations

from typing import Final

from stepscope.model.source import SourceTraits

NAME: Final = "xplane"

#: Nothing is known of what the profiler was asked to record.
SOURCE: Final = SourceTraits(
    framework="unknown",
    marking="",
    marking_elsewhere=(
        "put each iteration into jax.profiler.StepTraceAnnotation or tf.profiler.experimental.Trace, with its step_num"
    ),
    profiler="the XLA profiler",
    # Each host of a job writes one into the folder of the recording's time.
    file_name=r"(?P<worker>.+)\.xplane\.pb(?:\.\w+)?",
)
