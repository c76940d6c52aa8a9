"""The host does other work while the device is idle.

## What it finds
Stretches of milliseconds in which the device is idle and the host launches nothing, because the program does something
else: bookkeeping, sampling, evaluation, building the next request, a computation on the host; and calls of MPI, of any
length.

## Why it matters
Such work is no launch overhead: neither fewer kernels nor graphs reduce it. It has to overlap with device work, move
elsewhere, or go.

## How it decides
Idle time in which no thread that feeds the device calls its runtime for 20 usual times between two launches, and for a
millisecond at least (`own_work.own_work_share`), must come to `min_share` of the step. Waiting for a person, a peer or
a point in time in a call of the operating system does not count, nor do the data loader and garbage collection; where
such waits come to as much by themselves, in three stretches or more, that is said as advice; what
the profiler adds to the host's work is taken off (`profiler_cost.own_late_share`). The function is the innermost one on
the recorded Python stack that covers half of that time, else a range of the program (NVTX, `record_function`), an
operator, a function that samples of the processor saw, or a call of the operating system. The price is what the step
would save on its dependency graph without that time.

## What to try
Overlap it with device work: prepare the next input before waiting for this one, in a second thread, stream or process.
Do it less often, or on whole arrays instead of element by element.

## Known limits
Without stacks, ranges or samples the recording does not say what the host does, only for how long. Of a compiled
program in fewer than three steps, without any range of the compiler, a stretch of a tenth of a second before kernels
that are new may be compilation: that is said as a hypothesis. What turns input into batches is DAT006.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.analyses.idle.host_work import MPI_CALL
from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent, plural
from stepscope.model.events.change import Change, Stretches
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.copies.weight_loading import loaded
from stepscope.signals.host.compiling import compiling_events
from stepscope.signals.host.own_work import Doing, before_new_kernels, others_awaited, own_work, own_work_share
from stepscope.signals.host.profiler_cost import own_late_share
from stepscope.signals.recording.recording import profiler
from stepscope.signals.shared.job import recorded_steps, step_ns, steps
from stepscope.signals.shared.program import program
from stepscope.signals.system.system import longest

MIN_SHARE = Threshold("min_share", 0.05, "share", "Half of the 10 % of idle time from which xprof and others warn.")
#: Stretches of at least this share of the longest one count.
_LONG = 0.1
#: At most so many parts of a function are named.
_LONGEST = 3

_AHEAD = Action(
    "Do it while the device works: prepare the next input before waiting for this one, or in a second thread",
    before="work = prepare(i); launch(work); wait()",
    after="launch(work); work = prepare(i + 1); wait()",
    page="prefetching",
)
_MORE_WORKERS: Final = Action(
    "If it waits for batches: let more workers of the loader prepare them ahead",
    before="loader = DataLoader(dataset)",
    after="loader = DataLoader(dataset, num_workers=8, prefetch_factor=4, persistent_workers=True)",
    page="data-loading",
)
_MESSAGES: Final = (
    Action(
        "Compute the edges first, send them while the inside is computed, and wait before the edges are needed",
        before="compute<<<g, b>>>(d);\ncudaDeviceSynchronize();\nMPI_Sendrecv(halo, ...);",
        after="edges<<<g, b, 0, side>>>(d);\ninside<<<g, b, 0, stream>>>(d);\ncudaStreamSynchronize(side);\n"
        "MPI_Irecv(...); MPI_Isend(...);   // while `inside` runs\nMPI_Waitall(...);",
        page="streams",
        needs=("kernels of its own",),
    ),
    *native.MESSAGES,
    Action("Send fewer and larger messages, and reduce once in many iterations; see which rank the others wait for"),
)
#: Calls of MPI that make up so much of it are what it is about.
_MOSTLY: Final = 0.5
#: Compiling a graph takes longer; from so many steps on it would show as the first ones.
_COMPILING_NS: Final = 100_000_000
_LOOP: Final = 3
_MAY_COMPILE: Final = said(
    " A hypothesis: the compiler works in it, since kernels run after it for the first time, most are compiled, and no "
    "range of compiling is recorded."
)
_COMPILE_BEFORE: Final = Action(
    "Run the model once before the recording starts, with the same shapes: what was compilation is gone then",
    before="with profile() as prof:\n    model(x)",
    after="model(x)  # compiles\nwith profile() as prof:\n    model(x)",
    needs=("compiled",),
    page="recompilation",
)
#: What always shortens it.
LESS = Action("Do it less often, on whole arrays instead of element by element, or on the device")
#: What is to be done about a pause that the program makes.
AWAKE = Action(
    "Take the pause out of the loop, or wait for what it is meant to wait for",
    before="while not ready():\n    time.sleep(0.05)",
    after="event.wait()  # goes on as soon as it is set",
    needs=("python",),
)
#: The same about saving, which a few recorded steps don't tell the frequency of.
SAVED = Action(
    "If it comes as often as here: save less often, or in the background, written while training goes on",
    before="torch.save(state, path)",
    after="import torch.distributed.checkpoint as dcp\nif step % 1000 == 0:\n"
    "    saved = dcp.async_save(state, checkpoint_id=path)",
    needs=("python",),
)
#: How to see what it is where nothing tells, by profiler.
MARK: Final = {
    "nsight": Action(
        "Find out what it is: mark the parts of the loop with ranges, and sample the stack",
        before="nsys profile --trace=cuda ...",
        after="nsys profile --trace=cuda,nvtx,osrt --sample=process-tree ...",
        page="recording",
    ),
    "any": Action(
        "Find out what it is: mark the parts of the loop, or look at the stack while it runs",
        after='with torch.profiler.record_function("prepare"):\n    ...\n# or: py-spy record --native --pid $PID',
        page="recording",
    ),
}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare such stretches with the step, but for those that prepare input."""
    share = min(s(own_work_share), s(own_late_share))
    if share < limits["min_share"]:
        return
    found = s(own_work)
    idle = round(share * s(step_ns))
    if found.prepares or not idle:
        return
    if found.found.total < limits["min_share"] / share * idle:
        yield from _awaiting(s, limits)
        return
    lengths = found.found.ends - found.found.starts
    # Short ones before and after the long ones are beside the point.
    number = int(np.count_nonzero(lengths >= _LONG * lengths.max()))
    told = bool(found.name or found.parts)
    per = said("the step") if s(steps) else said("the time in which it is in use")
    compiles = not told and _may_compile(s, int(lengths.max()))
    messages = share_of_mpi(found) >= _MOSTLY
    yield Draft(
        title="The device waits for MPI" if messages else "The host does other work while the device is idle",
        summary=said(
            "For {share} of {per} the device is idle while the host makes no call of its runtime: "
            "{stretches} of up to {longest_of}{where}.",
            share=percent(share), per=per, stretches=plural(number, "stretch", "stretches"),
            longest_of=longest_of(found), where=where(found),
        )
        + (_MAY_COMPILE if compiles else ""),
        actions=_MESSAGES
        if messages
        else (AWAKE,)
        if found.sleeps
        else (_AHEAD, LESS)
        if told
        else (_COMPILE_BEFORE, MARK.get(s.maybe(profiler) or "", MARK["any"]))
        if compiles
        else (MARK.get(s.maybe(profiler) or "", MARK["any"]), _AHEAD),
        change=Change(time=(Stretches(found.found.starts, found.found.ends, 0.0),)),
        most_ns=min(idle, found.found.total),
        confidence=0.85 if told else 0.7,
        ranges=longest(found.found),
        rows=({"table": "idle_causes", "where": {"cause": "host_dispatch", "detail": "host_work"}},),
        numbers={own_work_share.name: share, **limits},
        apart_from=() if _while_loading(s, found) else ("CPY010",),
    )  # fmt: skip


def _awaiting(s: Signals, limits: Limits) -> Iterator[Draft]:
    """What the device waits for is somebody else, as calls of the operating system tell: who, they don't."""
    found = s.maybe(others_awaited)
    if found is None or len(found.found) < _LOOP:
        return
    share = found.found.total / s(recorded_steps) / s(step_ns)
    if share < limits["min_share"]:
        return
    yield Draft(
        title="The device idles while the host waits for something else",
        summary=said(
            "For {share} of {per} the device is idle while the main thread waits in the operating system: "
            "{stretches} of up to {longest_of}{where}. For what is not recorded: another thread or process, as the "
            "workers of a loader are, a connection, requests, or time.",
            share=percent(share), per=said("the step") if s(steps) else said("the time in which it is in use"),
            stretches=plural(len(found.found), "stretch", "stretches"), longest_of=longest_of(found),
            where=where(found),
        ),
        actions=(_MORE_WORKERS, MARK.get(s.maybe(profiler) or "", MARK["any"])),
        taken_ns=round(share * s(step_ns)),
        waiting=True,
        confidence=0.6,
        ranges=longest(found.found),
        rows=({"table": "idle_causes", "where": {"cause": "host_dispatch", "detail": "host_work"}},),
        numbers={"waiting": round(share, 4), **limits},
        key="waiting",
    )  # fmt: skip


def _while_loading(s: Signals, found: Doing) -> bool:
    """Whether most of it lies between the copies of a model that is loaded."""
    copies = s.whole.maybe(loaded)
    return copies is not None and 2 * found.found.clip(copies.start, copies.end).total > found.found.total


def _may_compile(s: Signals, longest_ns: int) -> bool:
    """Whether nothing speaks against compilation: a compiled program, no loop yet, and none of its ranges recorded."""
    ran, events = s.maybe(program), s.maybe(compiling_events)
    # Engines of TensorRT are built before they run.
    compiled = ran is not None and ran.compiled is True and ran.framework != "tensorrt"
    unseen = events is None or not events.size
    return (
        compiled and unseen and s(steps) < _LOOP and longest_ns >= _COMPILING_NS and s.maybe(before_new_kernels) is True
    )


def share_of_mpi(found: Doing) -> float:
    """The part of these stretches that calls of MPI take, as far as they are among the functions that are named."""
    return sum(share for name, share in (*found.parts, *found.beside) if MPI_CALL.match(name))


def longest_of(found: Doing) -> str:
    """The length of the longest stretch, for people."""
    return duration(int((found.found.ends - found.found.starts).max()))


def where(found: Doing) -> str:
    """What the host does in them, as the end of a sentence: `, most of it in f (g 47.8 % of it); 14.8 % in h`."""
    parts = [f"{name} {percent(share)}" for name, share in found.parts if name != found.name][:_LONGEST]
    inner = said(" ({parts} of it)", parts=", ".join(parts)) if parts else ""
    if found.name:
        beside = listing(said("{share} in {name}", share=percent(share), name=name) for name, share in found.beside)
        return said(", most of it in {name}{inner}", name=found.name, inner=inner) + (
            said("; {beside}", beside=beside) if beside else ""
        )
    return (
        said(", in {parts} of it", parts=", ".join(parts))
        if parts
        else said(", in code that the recording does not show")
    )


RULE = Rule("HST013", "host-work", thresholds=(MIN_SHARE,), check=check, symptom_of=(
    "HST005", "HST006", "HST007", "HST010", "HST011", "HST012", "DAT001", "DAT006", "CPY010", "SYS001", "SYS002",
    "SYS003",
))  # fmt: skip
