"""The kinds of input in these recordings, and how to record each."""

from __future__ import annotations

from typing import Final

from stepscope.model.source import SourceTraits

NAME: Final = "ascend"

#: How each kind of input is recorded with torch_npu.profiler.
SOURCE: Final = SourceTraits(
    inputs={
        "device": "record with activities=[CPU, NPU]",
        "operators": "record with activities=[CPU, NPU] and keep trace_view.json or the database",
        "shapes": "record with record_shapes=True",
        "stacks": "record with with_stack=True",
        "modules": "record with with_modules=True or with_stack=True, or annotate with record_function",
        "calls": "record with activities=[CPU, NPU] and keep trace_view.json or the database",
        "core_counters": "record with profiler_level Level1 and aic_metrics=AiCMetrics....",
        "link_counters": "record with sys_io=True and sys_interconnection=True",
        "kernel_counters": "give what msprof op wrote together with the recording",
        "loader": "profile the loop over a torch DataLoader, not only its body, or name a record_function like one",
        "collectives": "record the ranks with activities=[CPU, NPU] and profiler_level Level1",
        "links": "record with profiler_level Level1 or Level2, and keep trace_view.json or the database",
        "summaries": "keep step_trace_time.csv, op_statistic.csv, api_statistic.csv and communication.json, "
        "or analysis.db",
        "allocations": "record with profile_memory=True",
    },
    platform="npu",
    marking_elsewhere="mark each iteration with an mstx range, or call step() of MindSpore's profiler after it",
    # What the trace handlers of torch_npu (`_pt`) and MindSpore (`_ms`) call their folders.
    file_name=r"(?P<worker>.+)_(?P<time>\d{8,20})_ascend_(?:pt|ms)",
    profiler="the Ascend profiler",
)
