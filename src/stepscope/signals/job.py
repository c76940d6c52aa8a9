"""The job as a whole: its steps, its devices, and what platform to give advice for."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.analyses.device_time import step_windows
from stepscope.analyses.recorded_events import names_of
from stepscope.model.device_work import DeviceWork
from stepscope.model.devices import Device, match
from stepscope.model.errors import MissingInputError
from stepscope.model.steps import Steps
from stepscope.signals.signal import Signals, signal

_DEVICE_SQL: Final = """
SELECT name FROM devices WHERE name IS NOT NULL ORDER BY used DESC, device LIMIT 1
"""
_PLATFORMS: Final = {"nvidia": "cuda", "amd": "rocm", "huawei": "npu", "intel": "xpu"}
#: Beginnings of names of runtime calls, where no device is named.
_CALLS_SQL: Final = """
SELECT CASE WHEN bool_or(name LIKE 'hip%') THEN 'rocm'
            WHEN bool_or(name LIKE 'acl%' OR name LIKE 'AscendCL@%' OR name LIKE 'rtKernel%') THEN 'npu'
            WHEN bool_or(name LIKE 'cu%') THEN 'cuda'
            WHEN bool_or(name LIKE 'ur%' OR name LIKE 'ze%') THEN 'xpu' END
FROM names WHERE name_id IN (SELECT DISTINCT name_id FROM spans WHERE category IN ('runtime', 'launch', 'sync'))
"""
#: What only training runs: backward passes (`aten::mm_backward`, `wgrad_alg0_engine`, `SoftmaxGrad`) and optimizers.
_TRAINING: Final = re.compile(
    r"[Bb]ackward|[dw]grad|_bwd|bwd_|Grad\b|GradV\d|[Oo]ptimizer|multi_tensor_apply", re.ASCII
)


@signal("ns")
def step_ns(s: Signals) -> int:
    """Mean length of a complete step, from the end of the step before it to the end of its last work."""
    windows = s.trace.once(step_windows)
    complete = set(Steps.of(s.trace).complete.tolist())
    lengths = [
        int(end - start)
        for step, start, end in zip(windows.step, windows.starts, windows.ends, strict=True)
        if int(step) in complete and end > start
    ]
    if not lengths:
        raise MissingInputError("the recording has no complete step", hint="record at least two whole steps")
    return sum(lengths) // len(lengths)


@signal("count")
def steps(s: Signals) -> int:
    """Number of complete steps; 0 if the trace counts as one step because none were found."""
    return int(np.count_nonzero(Steps.of(s.trace).whole))


@signal("count")
def recorded_steps(s: Signals) -> int:
    """Number of steps, partial ones and a trace that counts as one step included; at least 1."""
    return max(Steps.of(s.trace).step.size, 1)


@signal("ns")
def recorded_ns(s: Signals) -> int:
    """Length of all recorded steps: what time that is summed up over the recording is a share of; at least 1."""
    length = s.maybe(step_ns)
    if length is not None:
        return max(length * s(recorded_steps), 1)
    return max(int(s.trace.scalar("SELECT max(ts + coalesce(dur, 0)) - min(ts) FROM spans") or 0), 1)


@signal()
def device(s: Signals) -> Device | None:
    """The row of the device table for the device in use; None if its name is not recorded or not in the table."""
    return match(s.trace.scalar(_DEVICE_SQL))


@signal()
def platform(s: Signals) -> str:
    """What advice is written for: cuda, rocm, npu, xpu, cpu (no device work) or other."""
    known = s(device)
    if known is not None and known.vendor in _PLATFORMS:
        return _PLATFORMS[known.vendor]
    calls = s.trace.scalar(_CALLS_SQL)
    if calls:
        return str(calls)
    return "other" if s.trace.scalar("SELECT count(*) FROM kernels") else "cpu"


@signal()
def infers(s: Signals) -> bool:
    """Whether the job only infers: products run on the device, and nothing that only training runs."""
    work = DeviceWork.of(s.trace)
    if work.is_class("optimizer").any() or not work.is_class("gemm", "convolution", "attention").any():
        return False
    names = names_of(s.trace, ("op", "kernel", "annotation", "module"))
    return not any(_TRAINING.search(name) for _, name in names)
