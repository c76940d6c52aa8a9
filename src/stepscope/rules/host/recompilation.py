"""Code is compiled or loaded within steps.

## What it finds
Compilation by `torch.compile`, Triton, JAX or the device's runtime, tracing of functions of TensorFlow, and loading of
compiled code, inside recorded steps.

## Why it matters
Compiling takes milliseconds to minutes, and the device waits. Once at the start is harmless; again and again, because a
compile-time assumption keeps changing, it costs more than compiled code gains.

## How it decides
Such events must take `min_share` of the mean step (`compiling.compiling_share`). Where only one of several steps has
them, it may be the first one: that lowers the confidence. The price is what the step would save on its dependency graph
without them. In a recording without steps all compilation counts, wherever it lies: whether it comes again can't be
told there. What lies before the first use of the device has no price, but its share of the recording, once it takes
`min_recorded` of it.

## What to try
Find out what changes: `TORCH_LOGS=recompiles` names the guard that failed, `JAX_EXPLAIN_CACHE_MISSES=1` the
argument of a function of JAX. A `tf.function` is traced anew for each new shape and number of Python. Mark
dimensions that vary (`torch._dynamo.mark_dynamic`), or pad them to a few sizes; keep numbers that change out of the
compiled code. Load code before the loop by a warm-up step with every shape; keep compiled code between runs.

## Known limits
Operators compiled by CANN are the business of the Ascend rules. A recording of the first steps shows compilation that
is over soon.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.compiling import compilations, compiled_once, compiling_share
from stepscope.signals.shared.job import recorded_steps, step_ns, stepless

#: What takes half of the recording is what is recorded.
_MOSTLY: Final = 0.5

WHY = Action(
    "Find out what triggers recompilation",
    before="python train.py",
    after='TORCH_LOGS="recompiles,graph_breaks" python train.py',
    page="recompilation",
)
WARM = Action(
    "Load and compile before the loop, with every shape that will occur",
    before="for batch in loader:\n    train(batch)",
    after="for shape in shapes:\n    train(torch.zeros(shape, device=device))  # results are thrown away\n"
    "for batch in loader:\n    train(batch)",
    page="recompilation",
)


_BEFORE = Action(
    "Compile before the recording starts: run the model once, with the same shapes",
    before="with profile() as prof:\n    model(x)",
    after="model(x)  # compiles\nwith profile() as prof:\n    model(x)",
    page="recompilation",
)
_JAX_WHY = Action(
    "Find out which function is traced and compiled again, and for which argument",
    before="python train.py",
    after="JAX_LOG_COMPILES=1 JAX_EXPLAIN_CACHE_MISSES=1 python train.py",
    page="recompilation",
)
_JAX_KEPT = Action(
    "Keep compiled code between runs, where compiling itself is what takes too long",
    after="JAX_COMPILATION_CACHE_DIR=/data/jax python train.py",
    page="recompilation",
)
_TF_WHY = Action(
    "Give a function tensors, and of few shapes: numbers of Python and each new shape are traced anew",
    before="@tf.function\ndef step(x, rate):",
    after="@tf.function(reduce_retracing=True)\ndef step(x, rate):  # called with rate = tf.constant(0.1)",
    page="recompilation",
)
KEPT = Action(
    "Keep compiled code between runs, where compiling itself is what takes too long",
    after="TORCHINDUCTOR_FX_GRAPH_CACHE=1 TORCHINDUCTOR_CACHE_DIR=/data/inductor python train.py",
    page="recompilation",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare compilation with the step, or with the recording where no steps are known."""
    if s.maybe(stepless):
        yield from _without_steps(s, limits)
        return
    found = s(compilations)
    if not found.events.size or s(compiling_share) < limits["min_share"]:
        return
    once = found.steps == 1
    longest = np.argsort(-found.dur, kind="stable")[:20]
    yield Draft(
        title="Code is compiled or loaded in the loop",
        summary=said(
            "Compiling or loading code takes {compiling_share} of the time of the steps, in {steps} of "
            "{recorded_steps} steps, for up to {dur}: {names}.",
            compiling_share=percent(s(compiling_share)), steps=found.steps, recorded_steps=s(recorded_steps),
            dur=duration(int(found.dur.max())), names=", ".join(found.names),
        ),
        actions=(WARM, WHY, _JAX_WHY, _TF_WHY) if once else (WHY, _JAX_WHY, _TF_WHY, WARM),
        change=Change(host=(Scaled(found.events, 0.0),)),
        confidence=0.6 if once else 0.9,
        events=found.events[longest],
        numbers={compiling_share.name: s(compiling_share), "min_share": limits["min_share"]},
    )  # fmt: skip


def _without_steps(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare all compilation with the recording: whether it comes again is unknown."""
    all_of_it, inside = s(compiled_once), s(compilations)
    share = all_of_it.total_ns / all_of_it.recorded_ns
    known = s.maybe(step_ns)
    in_use = int(inside.dur.sum()) / known if known else 0.0
    if in_use < limits["min_share"] and share < limits["min_recorded"]:
        return
    outside = all_of_it.outside_ns > int(inside.dur.sum())
    most = (
        said("Most of what is recorded is compilation")
        if share >= _MOSTLY
        else said("Code is compiled while it is recorded")
    )
    yield Draft(
        title=most,
        summary=said(
            "Compiling takes {total} of the {recorded} recorded ({share}): {names}. As a rule only the "
            "first call of a shape compiles; without steps the recording can't tell whether this comes "
            "again.",
            total=duration(all_of_it.total_ns), recorded=duration(all_of_it.recorded_ns), share=percent(share),
            names=", ".join(all_of_it.names),
        ),
        actions=(_BEFORE, WHY, KEPT, _JAX_WHY, _JAX_KEPT, _TF_WHY),
        change=None if outside else Change(host=(Scaled(inside.events, 0.0),)),
        taken_ns=all_of_it.total_ns if outside else None,
        placed_as_ns=all_of_it.total_ns if outside else None,
        recorded_share=share if outside else None,
        confidence=0.8,
        events=all_of_it.events,
        numbers={"share": round(share, 4), **limits},
    )  # fmt: skip


RULE = Rule(
    "HST010",
    "recompilation",
    thresholds=(
        Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),
        Threshold("min_recorded", 0.25, "share", "Less stands beside what was to be recorded."),
    ),
    check=check,
    symptom_of=("HST011",),
)
