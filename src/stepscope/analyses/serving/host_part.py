"""Time that a server's host takes to schedule batches and to choose tokens, as far as its functions are recorded."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.analyses.serving.roles import AROUND_SAMPLING
from stepscope.model.events.columns import Spans, named, on_host
from stepscope.model.intervals import Intervals
from stepscope.model.trace import Trace

#: Functions and ranges that take in requests, choose the next batch, and take up what the last one made: vLLM's
#: scheduler, SGLang's, TensorRT-LLM's executor.
_SCHEDULING: Final = re.compile(
    r"\bcore/sched/\w*scheduler\.py\(\d+\): (?:schedule|update_from_output)$"
    r"|\bmanagers/\w*scheduler\w*\.py\(\d+\): (?:recv_requests|process_input_requests|get_next_batch_to_run"
    r"|process_batch_result\w*|update_running_batch|get_new_batch_prefill)$"
    r"|\bpy_executor\.py\(\d+\): (?:_schedule|_prepare_and_schedule_batch|_process_requests|_handle_responses"
    r"|_update_requests)$"
    r"|^_schedule$|^_handle_responses$|^_update_requests$|^_fetch_new_requests$|^schedule: "
)


def scheduling(trace: Trace) -> Intervals | None:
    """When the host was in a scheduler; None where none of its functions is recorded. Ask for it with `Trace.once`."""
    return _when(trace, _SCHEDULING)


def sampling(trace: Trace) -> Intervals | None:
    """When the host was choosing tokens; None where none of its functions is recorded. Ask for it with `Trace.once`."""
    return _when(trace, AROUND_SAMPLING)


def _when(trace: Trace, pattern: re.Pattern[str]) -> Intervals | None:
    spans = Spans(trace)
    at = np.flatnonzero(named(trace, pattern.search) & (spans.dur >= 0))
    at = at[on_host(trace, spans.track[at])]
    return Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at]) if at.size else None
