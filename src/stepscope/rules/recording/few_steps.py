"""Too few steps are recorded to show what is typical.

## What it finds
Recordings without marked steps, or with fewer than three whole ones.

## Why it matters
One step can't show what varies: a slow batch, a garbage collection, memory that grows. The first steps allocate and
compile, and are not typical.

## How it decides
Fewer than three complete steps, marked or inferred, in which the device is idle for a tenth of the time or more:
kernels take the same in every step, but what the device waits for may occur in this one only. It is advised if it is
among the three things whose lack leaves most of the step unexplained. Where most of the recording comes before the
device's first work, and nothing says what the host does there (`one_time.untold_start`), that is said with it; where
there is no whole step, it stands in the place of what costs as much.

## What to try
Mark steps and record three to ten of them after a warm-up.

## Known limits
For inference a step is whatever is repeated: a request, a generated token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from stepscope.language import said
from stepscope.model.amounts import duration
from stepscope.rules.finding import Action
from stepscope.rules.recording.chosen import READS, advice, lacking
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.host.one_time import untold_start
from stepscope.signals.shared.job import steps

_ACTIONS = {
    "any": Action(
        "Mark steps, and record some of them after a warm-up",
        before="with profile() as prof:\n    for batch in loader:\n        train(batch)",
        after="with profile(schedule=schedule(wait=5, warmup=2, active=5)) as prof:\n"
        "    for batch in loader:\n        train(batch)\n        prof.step()",
        page="recording",
    ),
    "ascend": Action(
        "Mark steps, and record some of them after a warm-up",
        before="with torch_npu.profiler.profile() as prof:\n    for batch in loader:\n        train(batch)",
        after="with torch_npu.profiler.profile(\n"
        "        schedule=torch_npu.profiler.schedule(wait=5, warmup=2, active=5, repeat=1),\n"
        "        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(folder)) as prof:\n"
        "    for batch in loader:\n        train(batch)\n        prof.step()",
        page="recording",
    ),
    "otherwise": Action(
        "Record three steps or more after a warm-up, marked where the profiler allows it", page="recording"
    ),
    "nsight": Action(
        "Mark steps with ranges",
        before="for batch in loader:\n    train(batch)",
        after='for i, batch in enumerate(loader):\n    with torch.cuda.nvtx.range(f"step {i}"):\n        train(batch)',
        page="recording",
    ),
    "memsnapshot": Action(
        "Mark steps while the history is recorded",
        before="for batch in loader:\n    train(batch)",
        after="for i, batch in enumerate(loader):\n"
        '    with torch.profiler.record_function(f"ProfilerStep#{i}"):\n'
        "        train(batch)",
        page="recording",
    ),
}


_NAME_IT = Action(
    "Find out what it is: record Python's functions, or mark what comes before the loop",
    before="with profile() as prof:\n    x = prepare()",
    after='with profile(with_stack=True) as prof:\n    with record_function("prepare"):\n        x = prepare()',
    page="recording",
)


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Advise it if little else is as useful."""
    found = lacking(signals, "steps")
    drafts = advice(
        found,
        said("Too few steps are recorded"),
        said("There are fewer than three whole steps: variation, growth and warm-up can't be distinguished."),
        _ACTIONS,
    )
    before = max((s.maybe(untold_start) or 0 for s in signals.values()), default=0)
    # Who marks a step asks about that first.
    stepless = not any((s.maybe(steps) or 0) > 0 for s in signals.values())
    for draft in drafts:
        yield _with_start(draft, before, first=stepless) if before else draft


def _with_start(draft: Draft, before_ns: int, *, first: bool) -> Draft:
    """The same where most of the recording comes before what was to be measured, and nothing says what it is."""
    return replace(
        draft,
        title=said("Most of the recording comes before the device is used"),
        summary=said(
            "For {before} before the device is used for the first time, no recorded range or function "
            "says what the program does: it may compute on the host, wait for a batch, read a file, "
            "compile, or not be at its loop yet. {summary}",
            before=duration(before_ns), summary=draft.summary,
        ),
        actions=(*draft.actions, _NAME_IT),
        placed_as_ns=before_ns if first else None,
    )  # fmt: skip


RULE = Rule("REC005", "few-steps", job_check=job_check, reads=(*READS, untold_start, steps))
