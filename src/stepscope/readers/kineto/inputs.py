"""The kinds of input in these recordings, and how to record each."""

from __future__ import annotations

from typing import Final

from stepscope.model.source import SourceTraits

NAME: Final = "kineto"
#: What a recording is called in which there is nothing that torch.profiler writes.
CHROME_NAME: Final = "chrome"

#: A Chrome trace without anything that torch.profiler writes: nothing is known of what it could hold.
CHROME: Final = SourceTraits(framework="unknown", marking="", marking_elsewhere="")
#: How each kind of input is recorded with torch.profiler.
SOURCE: Final = SourceTraits(
    inputs={
        "device": "record the device as well as the host (activities=[CPU, CUDA])",
        "grids": "record with activities=[CPU, CUDA] and a PyTorch that writes them (1.8 or later)",
        "operators": "record the host as well as the device (activities=[CPU, CUDA])",
        "shapes": "record with record_shapes=True",
        "stacks": "record with with_stack=True",
        "modules": "record with with_stack=True, or annotate with torch.profiler.record_function",
        "calls": "record the device as well as the host (activities=[CPU, CUDA])",
        "kernel_counters": "give what ncu --csv or rocprof-compute wrote together with the recording",
        "loader": "profile the loop over a torch DataLoader, not only its body, or name a record_function like one",
        "collectives": "record the ranks with their devices (activities=[CPU, CUDA])",
        "allocations": "record with profile_memory=True",
    },
    by_operators=True,
    numbered=True,
    profiler="torch.profiler",
    # What torch.profiler.tensorboard_trace_handler calls its files.
    file_name=r"(?P<worker>.+)\.(?P<time>\d{10,20})\.pt\.trace\.json.*",
)
