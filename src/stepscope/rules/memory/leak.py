"""Memory in use grows with every step.

## What it finds
A level of memory in use that rises from step to step and never falls: tensors that something still refers to.

## Why it matters
The job ends with a failed allocation hours later, and before that the allocator runs short and slows down. It is
hardly ever a leak of the library: a list of losses that still hold their graphs, outputs kept for a metric, hooks, a
cache without bound.

## How it decides
The least memory in use within each complete step must rise in every one of at least `min_steps` steps that follow
each other, by at least `min_bytes` on average; or, over `slow_steps` and more, in each quarter of them by as much: what
leaks in some steps alone. In a memory snapshot the analysis of what was not returned names the
call stacks that leave memory behind in most steps; without marked steps, five rounds or more in which memory in use
rises and falls by much, a little higher each time, show the stack that leaves memory behind in all of them
(`rounds.rising`), and so do three blocks or more of one line at even distances, none of which is ever freed
(`kept.kept_again`). Where allocations are not recorded, memory that the allocator
takes from the driver in every later step without ever giving any back is a hint of less weight. A job that trains and
fills the device's memory within `most_steps` at that rate will fail, which comes before what costs time. Of a program
that uses no device the memory of the host is looked at, as far as tensors are in it.

## What to try
Keep numbers, not tensors: `.detach()` or `.item()` for what is collected; empty lists at the end of an epoch; release
hooks. A snapshot of the allocator's history says which line allocated what stays.

## Known limits
The first steps of a job allocate states of the optimizer; recordings that begin there need some more steps. Growing
key and value caches of generation look the same and are meant: there the finding says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import quantity
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Action, Fate
from stepscope.rules.memory.remedies import DETACH
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import torch_module
from stepscope.signals import Signals
from stepscope.signals.memory.driver_memory import driver_calls
from stepscope.signals.memory.memory import Growth, fullest, growth, host_growth, same_sizes, unreturned
from stepscope.signals.shared.job import infers, platform
from stepscope.signals.shared.program import generates
from stepscope.signals.snapshots.kept import kept_again
from stepscope.signals.snapshots.rounds import rising

#: A level that rises from each of so many parts of the recording to the next one rises for good.
_PARTS = 4
#: Bytes of the largest device that is sold (B300, MI355X), where the recording does not say how much there is.
_LARGEST = 288 * 10**9

_OUTPUTS = Action(
    "Keep results on the host, or only what is read of them",
    before="outputs.append(model(x))",
    after="with torch.inference_mode():\n    outputs.append(model(x).cpu())",
    page="memory-leaks",
    needs=("infers",),
)
#: What grows on purpose while an answer is written.
_CACHES = said(
    " Where it generates tokens, the cache of keys and values grows so, on purpose, until an answer ends: "
    "it is a leak "
    "only if memory stays in use after that."
)
_HOLDER = Action(
    "Find out what still refers to such a block",
    after="import gc\nfor t in gc.get_objects():\n    if torch.is_tensor(t) and t.nbytes >= 2**20:\n"
    "        print(t.shape, [type(r) for r in gc.get_referrers(t)])",
    page="memory-leaks",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for what only grows; in generation a cache may be meant to."""
    meant = s.maybe(infers) is True and s.maybe(generates) is True
    for draft in _growing(s, limits):
        if meant:
            yield replace(draft, summary=draft.summary + _CACHES, confidence=min(draft.confidence, 0.4))
        else:
            yield draft


def _growing(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for a level that only rises, or for stacks that never return what they take."""
    levels, stacks, calls = s.maybe(growth) or s.maybe(host_growth), s.maybe(unreturned), s.maybe(driver_calls)
    if levels is None and stacks is None and calls is None:
        raise MissingInputError(
            "allocations of device memory are not recorded", hint="record them (PyTorch: profile_memory=True)"
        )
    # A few bytes in each step are losses that are collected as they should be.
    stacks = tuple(row for row in stacks or () if (row["bytes_per_step"] or 0) >= limits["min_bytes"])
    if stacks:
        worst = max(stacks, key=lambda row: row["bytes_per_step"] or 0)
        yield Draft(
            title="Memory in use grows with every step",
            summary=said(
                "{place} leaves {bytes_per_step} behind in each step, {bytes} so far.",
                place=worst["place"], bytes_per_step=quantity(worst["bytes_per_step"], "bytes"),
                bytes=quantity(worst["bytes"], "bytes"),
            ),
            actions=(DETACH, _OUTPUTS),
            fate=_fate(s, worst["bytes_per_step"] or 0, limits),
            rows=({"table": "memory_unreturned", "where": {"stack": worst["stack"]}},),
            numbers={"bytes per step": worst["bytes_per_step"] or 0, **limits},
        )  # fmt: skip
        return
    for one in levels or ():
        if _rises(one, limits):
            per_step, size = int(one.increases.mean()), one.levels.size
            grown = quantity(int(one.levels[-1] - one.levels[0]), "bytes")
            yield Draft(
                title="Memory in use grows with every step",
                summary=said(
                    "Each step leaves {per_step} more in use than the one before it; {levels} over {size} steps.",
                    per_step=quantity(per_step, "bytes"), levels=grown, size=size,
                )
                if (one.increases > 0).all()
                else said(
                    "Over {size} steps {levels} more stay in use, more with each quarter of them: some steps leave "
                    "memory behind, {per_step} per step on average.",
                    per_step=quantity(per_step, "bytes"), levels=grown, size=size,
                ),
                actions=(DETACH, _HOLDER)
                if one.device is None
                else (DETACH, _OUTPUTS, _who(torch_module(s.maybe(platform) or "other"))),
                # How much memory the host has is not recorded.
                fate="" if one.device is None else _fate(s, per_step, limits),
                rows=({"table": "memory_timeline", "where": {"device": one.device}},),
                numbers={"bytes per step": per_step, "steps": one.levels.size, **limits},
            )  # fmt: skip
            return
    one_stack = s.maybe(rising)
    if one_stack is not None and one_stack.per_round >= limits["min_bytes"]:
        yield Draft(
            title="Memory in use rises from round to round",
            summary=said(
                "{place} leaves {per_round} behind each time that memory in use has risen and fallen again, "
                "{rounds} times in a row. No steps are marked: if these are steps of one loop, it never comes "
                "back.",
                place=one_stack.place, per_round=quantity(one_stack.per_round, "bytes"), rounds=one_stack.rounds,
            ),
            actions=(DETACH, _OUTPUTS),
            confidence=0.6,
            rows=({"table": "memory_unreturned", "where": {"stack": one_stack.stack}},),
            numbers={"bytes per round": one_stack.per_round, "rounds": one_stack.rounds, **limits},
        )  # fmt: skip
        return
    blocks = s.maybe(kept_again)
    if blocks is not None and blocks.each >= limits["min_bytes"]:
        yield Draft(
            title="Blocks of one line are never freed",
            summary=said(
                "{place} allocates {each} again and again, {count:,} times in the history, and none is ever "
                "freed: {bytes} at its end. No steps are marked: if these are rounds of one loop, memory in "
                "use grows with each.",
                place=blocks.place, each=quantity(blocks.each, "bytes"), count=blocks.count,
                bytes=quantity(blocks.bytes, "bytes"),
            ),
            actions=(DETACH, _OUTPUTS, _HOLDER),
            # What grows ends a program; it comes before what its peak is made of.
            confidence=0.85,
            rows=({"table": "memory_unreturned", "where": {"stack": blocks.stack}},),
            numbers={"bytes": blocks.bytes, "count": blocks.count, **limits},
        )  # fmt: skip
        return
    if calls is not None and s.maybe(same_sizes) is None:
        taken = calls.steady
        if calls.steps.size - 1 >= limits["min_steps"] and calls.recurrence == 1.0 and not calls.free.any():
            yield Draft(
                title="Memory in use grows with every step",
                summary=said(
                    "In each of {size} steps after the first the allocator takes memory from the "
                    "driver ({size_2} "
                    "times in all), and never gives any back.",
                    size=calls.steps.size - 1, size_2=taken.event.size,
                ),
                actions=(DETACH, _OUTPUTS, _who(torch_module(s.maybe(platform) or "other"))),
                confidence=0.5,
                events=taken.event[:20],
                rows=({"table": "memory_churn", "where": {"step": None}},),
                numbers={"calls": taken.event.size, **limits},
            )  # fmt: skip


def _who(module: str) -> Action:
    return Action(
        "Record the allocator's history over some steps to see which line allocated what stays",
        after=f"{module}.memory._record_memory_history()\n...  # some steps\n"
        f'{module}.memory._dump_snapshot("snapshot.pickle")',
        page="memory-leaks",
    )


def _fate(s: Signals, per_step: int, limits: Limits) -> Fate:
    """Whether memory will run out; what inference keeps from step to step is bounded."""
    most = s.maybe(fullest)
    left = _LARGEST if most is None else (most.total or 0) - most.used
    return "will fail" if left < limits["most_steps"] * per_step and s.maybe(infers) is False else ""


def _rises(one: Growth, limits: Limits) -> bool:
    rises = one.increases
    if rises.size < limits["min_steps"] or rises.mean() < limits["min_bytes"]:
        return False
    if (rises > 0).all():
        return True
    if one.levels.size < limits["slow_steps"]:
        return False
    parts = np.array_split(one.levels, _PARTS)
    # What all steps of a part have in use is more than in the part before, by what its steps should have left.
    least = np.array([part.min() for part in parts])
    return bool((np.diff(least) >= limits["min_bytes"] * parts[-1].size).all())


RULE = Rule(
    "MEM006",
    "leak",
    thresholds=(
        Threshold(
            "min_steps",
            3,
            "count",
            "Growth in three steps after the first is no warm-up, as in torch's own tools for snapshots.",
        ),
        Threshold("slow_steps", 12, "count", "Three steps in each quarter: fewer rise by chance."),
        Threshold("min_bytes", 2**20, "bytes", "Less does not fill a device of 80 GB within 80,000 steps."),
        Threshold("most_steps", 20_000, "count", "Few trainings have fewer steps: growth that slow may outlast one."),
    ),
    check=check,
)
