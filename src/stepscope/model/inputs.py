"""Kinds of recorded input, and the message and hint for each where it is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Input = Literal[
    "device", "grids", "operators", "shapes", "stacks", "modules", "calls", "os_calls", "loader", "collectives",
    "links", "summaries", "allocations", "snapshot", "history",
    "machine", "switches", "core_counters", "kernel_counters", "link_counters", "device_counters",
    "static_graphs",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Absence:
    """What is missing, and what to record next time, unless the reader has a hint of its own."""

    message: str
    hint: str


#: One per kind of input; kinds that a reader does not list can't be in its recordings.
ABSENCES: Final[Mapping[Input, Absence]] = {
    "device": Absence("the recording has no device activity", "record the device as well as the host"),
    "grids": Absence("the recording has no kernel with its grid and block sizes", "record the device with them"),
    "operators": Absence("the recording has no operators", "record the host as well as the device"),
    "shapes": Absence(
        "the recording has no shapes of operators' inputs",
        "record operators with their shapes (PyTorch: record_shapes=True)",
    ),
    "stacks": Absence(
        "the recording has no Python stacks", "record operators with their call stacks (PyTorch: with_stack=True)"
    ),
    "modules": Absence(
        "the recording has no modules or annotations",
        "record modules, or annotate parts of the step (PyTorch: with_stack=True, record_function)",
    ),
    "calls": Absence("the recording has no runtime calls", "record the calls of the device's runtime on the host"),
    "os_calls": Absence("the recording has no calls of the operating system", "record them as well"),
    "loader": Absence("the recording has no data loader", "record the loop over the loader, not only its body"),
    "collectives": Absence("the recording has no collective", "record a job of several ranks with its devices"),
    "links": Absence("the recording has no parts of its collectives", "record them with what they move, and where"),
    "summaries": Absence(
        "the recording has no sums of its profiler's that could be compared", "keep the files that hold them"
    ),
    "allocations": Absence(
        "the recording has no allocations of device memory", "record the memory as well (PyTorch: profile_memory=True)"
    ),
    "snapshot": Absence(
        "the recording has no memory snapshot", "record a memory snapshot (PyTorch: torch.cuda.memory._dump_snapshot)"
    ),
    "history": Absence(
        "the memory snapshot has no history of the allocator",
        "let the allocator keep its history (PyTorch: torch.cuda.memory._record_memory_history)",
    ),
    "switches": Absence(
        "the recording does not show when threads had a processor", "record when threads run, and when they wait"
    ),
    "core_counters": Absence("counters of cores are not recorded", "record the device with counters of its cores"),
    "device_counters": Absence(
        "units and links of the device were not sampled", "record the device with samples of its units"
    ),
    "static_graphs": Absence(
        "the recording has no memory of compiled graphs", "only graphs that are compiled ahead of time have it"
    ),
    "link_counters": Absence("the device's links were not sampled", "record the device with counters of its links"),
    "kernel_counters": Absence(
        "no counters of single kernels are beside the recording",
        "give what a profiler of kernels wrote together with the recording",
    ),
    "machine": Absence(
        "the machine was not sampled while the steps ran",
        "record with stepscope record, a job that goes on for some seconds after the recorded steps",
    ),
}
