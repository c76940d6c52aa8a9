"""The device is not recorded.

## What it finds
Work that was given to a device, by its launches, its libraries' operators or its memory, and nothing of what the device
did.

## Why it matters
Whether the device computes, communicates, copies or waits is the first thing to know of a step.

## How it decides
There is no device activity, and `ran_on.ran_on` tells that work was given to a device. Calls that launch it are only
recorded by what records the device, too: where they are there, the activity was asked for, and the tracer of the device
gave no records. Where operators of a device's libraries or its memory are there without any call, the activity was not
asked for. It is advised if it is among the three things whose lack leaves most of the step unexplained. In recordings
of torch.profiler it precedes whatever takes less than half of the time on the host.

## What to try
Where launches are recorded: known causes are the Windows Subsystem for Linux (CUPTI of some versions reports calls and
no kernels there: https://github.com/pytorch/kineto/issues/762), a CUPTI library that does not fit the driver or PyTorch
(found first by `LD_LIBRARY_PATH`: https://github.com/pytorch/pytorch/issues/118982), another profiler or monitor that
holds the device, and missing permission in containers
(https://developer.nvidia.com/ERR_NVGPUCTRPERM). The recording does not tell which of them it was. Where none are, add
the device's activity.

## Known limits
A job that never uses a device has nothing to record there, and gets no such advice. torch.profiler does not see Apple's
devices at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from stepscope.ingest.inputs import source_of
from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.shared.job import platform, span_ns, step_ns
from stepscope.signals.shared.ran_on import ran_on

_ACTIONS: Final = {
    "any": Action(
        "Record the device as well as the host",
        before="profile(activities=[ProfilerActivity.CPU])",
        after="profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])   # or NPU, XPU",
        page="recording",
    ),
    "nsight": Action(
        "Let Nsight Systems trace CUDA, alone on the device",
        before="nsys profile --trace=nvtx ./program",
        after="nsys profile --trace=cuda,nvtx ./program",
        page="recording",
    ),
}
_LOST: Final = Action(
    "Find out why, in the environment in which it was recorded",
    after="KINETO_LOG_LEVEL=0 python train.py   # what the tracer says when it starts\n"
    "uname -r               # microsoft: WSL, where some versions of CUPTI record no kernels; try a newer PyTorch\n"
    "pgrep -af 'nsys|ncu|nv-hostengine'   # another profiler or monitor: stop it, or: dcgmi profile --pause\n"
    "echo $LD_LIBRARY_PATH  # the CUPTI of another CUDA before PyTorch's own: unset it\n"
    "grep RmProfilingAdminOnly /proc/driver/nvidia/params   # 1: in a container, docker run --cap-add=SYS_ADMIN",
    page="recording",
    needs=("cuda",),
)
_LOST_ROCM: Final = Action(
    "Find out why, in the environment in which it was recorded",
    after="KINETO_LOG_LEVEL=0 python train.py   # what the tracer says when it starts\n"
    "pgrep -af rocprof       # another profiler of the device: stop it\n"
    "echo $LD_LIBRARY_PATH   # the tracer's library of another ROCm before PyTorch's own: unset it",
    page="recording",
    needs=("rocm",),
)
#: What is known to keep a device's tracer from giving records.
_CAUSES: Final = {
    "cuda": said(
        "the Windows Subsystem for Linux, another profiler on the device, missing permission, or a "
        "CUPTI that does "
        "not fit"
    ),
}
_ANY_CAUSES: Final = said("another profiler on the device, missing permission, or a tracer's library that does not fit")
_SYNC: Final = Action(
    "Wait for the device before the recording ends, so that its records are complete",
    before="with profile() as prof:\n    step()",
    after="with profile() as prof:\n    step()\n    torch.cuda.synchronize()",
    page="recording",
)
_MPS: Final = Action(
    "Record Apple's devices with Apple's tools: torch.profiler does not see them",
    before="with torch.profiler.profile() as prof:\n    step()",
    after='with torch.mps.profiler.profile(mode="interval", wait_until_completed=True):\n    step()  # look at it in '
    "Instruments, Logging",
    page="recording",
)


#: What the host does decides only where it takes this part of the time; else what the device does must be known first.
_UNKNOWN: Final = 0.5


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "device")
    if found is None:
        return
    where = signals[found.ranks[0]].maybe(ran_on)
    kind, mark = ("lost", "") if where is None else (where.where, where.mark)
    by_torch = where is not None and source_of(found.profiler).by_operators
    if kind == "lost" and by_torch:
        seen = said(
            "Calls that launch work on a device are recorded ({mark}), but no kernels: what the device "
            "did is missing. Such calls are only recorded with the device's activity, so that it was "
            "asked for, and its tracer gave no records. Why is not in the recording: {causes} are known "
            "causes.",
            mark=mark, causes=_CAUSES.get(signals[found.ranks[0]].maybe(platform) or "", _ANY_CAUSES),
        )  # fmt: skip
    elif kind == "mps":
        seen = said(
            "Work was given to an Apple device ({mark}), which torch.profiler does not record: what the "
            "device did is missing.",
            mark=mark,
        )
    elif kind == "device":
        seen = said(
            "Work was given to a device ({mark}), but neither launches nor kernels are recorded, as where the "
            "device's activity is not asked for: what the device did is missing.",
            mark=mark,
        )
    else:
        seen = said("Work was launched on a device, but what the device did is not recorded: no time can be explained.")
    first = signals[found.ranks[0]]
    length = first.maybe(step_ns) or first.maybe(span_ns) or 0
    place = round(_UNKNOWN * length) if kind in ("lost", "device") and by_torch else None
    for draft in advice(found, said("The device is not recorded"), seen, _ACTIONS):
        if kind == "lost" and by_torch:
            yield replace(draft, actions=(_LOST, _LOST_ROCM, _SYNC), placed_as_ns=place)
        elif kind == "mps":
            yield replace(draft, actions=(_MPS,))
        else:
            yield replace(draft, placed_as_ns=place)


RULE = Rule("REC003", "no-device", job_check=job_check, reads=(*READS, platform, ran_on, step_ns, span_ns))
