"""The recording holds too little to find what is slow.

## What it finds
Recordings of nothing, of a handful of kernels, of the first use of everything, or from which most events were taken
out.

## Why it matters
A first launch loads its kernel, the first allocations come from the driver, and a test of three kernels has no loop.
Whatever is slow in such a recording is not what is slow in the job; advice from it would be wrong.

## How it decides
No operator, call, range or device activity in a recording of torch.profiler. At most 30 device activities, of less than
a millisecond in all. Or first launches and memory from the driver take half of the steps, or of the time in which the
device is in use, and fewer than three steps are without them. Or less than 5 % of the numbers of operators between the
first and the last are left (`enough.verdict`). Findings about time are then withheld, unless their rules are selected
by name.

## What to try
Run a few iterations first, then record three or more of them, whole.

## Known limits
A recording of a program's start shows what starting costs; that is not looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from stepscope.language import said
from stepscope.model.program import Program
from stepscope.rules.finding import Action
from stepscope.rules.fitting import fits
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.recording.enough import Verdict, verdict
from stepscope.signals.recording.recording import profiler
from stepscope.signals.shared.job import step_ns
from stepscope.signals.shared.program import program

_TITLES: Final = {
    "nothing": said("Nothing of the program is recorded"),
    "few": said("Too little is recorded to say what is slow"),
    "first use": said("What is recorded is the first use"),
    "thinned": said("The recording is incomplete: events were removed"),
}
_WARM: Final = {
    "any": Action(
        "Warm up first, and record some whole iterations after that",
        before="with profile() as prof:\n    step()",
        after="with profile(schedule=schedule(wait=1, warmup=3, active=3)) as prof:\n    for _ in range(7):\n"
        "        step(); prof.step()",
        page="recording",
    ),
    "nsight": Action(
        "Warm up first, and record some whole iterations after that",
        before="nsys profile ./program",
        after="nsys profile --capture-range=cudaProfilerApi ./program\n"
        "// and in it, after the first iterations: cudaProfilerStart();",
        page="recording",
    ),
}
#: The same for programs that the code is not for.
_PLAIN: Final = Action("Run it a few times first, and record some whole runs after that", page="recording")
#: A window that is closed holds nothing once the next cycle of its schedule has begun.
_IN_TIME: Final = (
    Action(
        "With a schedule, write the trace when its active steps end: afterwards the profiler has begun its next cycle",
        before="with profile(schedule=schedule(wait=1, warmup=1, active=3)) as prof:\n    for batch in batches:\n"
        "        step(batch); prof.step()\nprof.export_chrome_trace(path)",
        after="with profile(schedule=schedule(wait=1, warmup=1, active=3, repeat=1),\n"
        "             on_trace_ready=lambda prof: prof.export_chrome_trace(path)) as prof:\n"
        "    for batch in batches:\n        step(batch); prof.step()",
        page="recording",
    ),
    Action(
        "What runs in threads of its own is recorded only if they are started inside the profiler's window, by the "
        "thread that opened it, or all threads are asked for",
        before="profile()",
        after="config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)\n"
        "profile(experimental_config=config)",
        page="recording",
    ),
)
_WHOLE: Final = Action("Give the recording as it was written, without anything taken out", page="recording")


def _actions(kind: str, recorder: str, of: Program | None) -> tuple[Action, ...]:
    if kind == "nothing":
        return _IN_TIME
    if kind == "thinned":
        return (_WHOLE,)
    code = _WARM.get(recorder, _WARM["any"])
    return (code,) if of is None or fits(code, of) else (_PLAIN,)


def job_check(signals: Mapping[int, Signals], _: Limits) -> Iterator[Draft]:
    """Say so where it holds of every rank."""
    found = {rank: s.maybe(verdict) or Verdict() for rank, s in sorted(signals.items())}
    first = next(iter(found.values()), Verdict())
    if not all(one.kind for one in found.values()) or not first.kind:
        return
    recorder = signals[next(iter(found))].maybe(profiler) or ""
    yield Draft(
        title=_TITLES[first.kind],
        summary=said("{text} Findings about time are withheld.", text=first.text),
        actions=_actions(first.kind, recorder, signals[next(iter(found))].maybe(program)),
        # It precedes all other findings.
        taken_ns=max(signals[next(iter(found))].maybe(step_ns) or 0, 1_000),
        confidence=1.0,
        ranks=tuple(found),
    )


RULE = Rule("REC013", "too-little", job_check=job_check, reads=(verdict, profiler, program, step_ns))
