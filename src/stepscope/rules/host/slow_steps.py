"""Single steps last several times as long as the others.

## What it finds
Steps between others that are left out of all figures per step because they last longer, and what takes the time in
them: compilation, a batch that comes late, garbage collection, saving, evaluation, a wait for other ranks.

## Why it matters
A step that comes once in a while is part of the job: one that takes a hundred times as long, once in a hundred steps,
doubles its time. Figures per step can't show it, since they are about the others.

## How it decides
What these steps last longer than typical ones (`slow_steps.slow_steps`), as a share of all these steps together, must
reach `min_share`. What takes half of that is named: compiling, loading, collecting garbage, a call of the runtime or
the innermost function or range while the devices are idle, else communication, copies or computing of the devices; of
a host alone, its operators count for the devices; where these are the same as in a typical step, as often and on the
same shapes as far as they are recorded, the program does nothing else in it.
There is no price, since a few steps don't show how often such ones come. It stands first where it takes several times
as long as the typical steps together. Steps that last less than twice as long (`slow_steps.longer_steps`) are told
where there are no such, it is the host or a collective that takes the time, and what they last longer takes
`min_longer` of all steps and `min_ns`.

## What to try
Depends on what it is: compile before the loop, keep a loader's workers between epochs, save in the background, evaluate
less often. Where the recording does not show it: record again with call stacks.

## Known limits
Needs three typical steps. The first step and the last one have reasons of their own, and are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from stepscope.language import pattern, said
from stepscope.model.amounts import duration
from stepscope.rules.finding import Action
from stepscope.rules.host.gc_pauses import MANUAL
from stepscope.rules.host.host_work import SAVED
from stepscope.rules.host.recompilation import KEPT, WARM, WHY
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.system.processor_contention import PROVE
from stepscope.signals import Signals
from stepscope.signals.host.one_time import DWARFS
from stepscope.signals.host.slow_steps import LongSteps, longer_steps, slow_steps

_MOST_NAMED: Final = 4
#: Batches vary as much as that by themselves, and so does what devices take for them.
_VARYING: Final = ("", "compute", "copies", "operators")

_WORKERS: Final = Action(
    "Keep the workers alive between epochs, and let them work further ahead",
    before="DataLoader(dataset, num_workers=8)",
    after="DataLoader(dataset, num_workers=8, persistent_workers=True, prefetch_factor=4)",
    page="data-loading",
)
_RARER: Final = Action("Do it less often, or outside of the loop that is measured")
_STACKS: Final = Action(
    "Find out what it is: record such a step again with call stacks, or look at the stack while it lasts",
    before="profile(activities=...)",
    after="profile(activities=..., with_stack=True)\n# or: py-spy dump --pid $PID",
    page="recording",
)
_RANGES: Final = Action(
    "See what it is: give the parts of the loop names, which the recording then shows",
    before="evaluate(model)",
    after='with torch.profiler.record_function("evaluate"):\n    evaluate(model)',
    page="recording",
)
_SHAPES: Final = Action(
    "See whether the batch is larger: record the shapes of operators",
    before="profile(activities=...)",
    after="profile(activities=..., record_shapes=True)",
    page="recording",
)
_OTHERS: Final = Action("See whether other ranks are late in these steps: analyse the recordings of all together")
_ACTIONS: Final = {
    "compiling": (WARM, WHY, KEPT),
    "loading": (_WORKERS,),
    "collecting": (MANUAL,),
    "saving": (SAVED,),
    "work": (_RARER,),
    "communication": (_OTHERS,),
    "compute": (_RANGES, _RARER),
    "shapes": (PROVE,),
    "operators": (PROVE, _SHAPES),
}
_DOING: Final = {
    "compiling": pattern("code is compiled for {took} of it{name}"),
    "loading": pattern("the loop waits for a batch for {took} of it"),
    "collecting": pattern("Python collects garbage for {took} of it"),
    "saving": pattern("the program saves for {took} of it{name}, while the device is idle"),
    "work": pattern("the device is idle for {took} of it{name}"),
    "call": pattern("the device is idle while {call} takes {took} of it"),
    "unseen": pattern("the device is idle for {took} of it, and the recording does not show what the host does"),
    "communication": pattern("collectives take {took} more than in the others, with the waiting in them"),
    "copies": pattern("copies take {took} more than in the others"),
    "compute": pattern(
        "the device computes {took} more than in the others. A hypothesis: an evaluation, or a larger batch"
    ),
    "": pattern("the recording does not show what takes the time"),
}
#: The same where no device is seen.
_ALONE: Final = {
    **_DOING,
    "saving": pattern("the program saves for {took} of it{name}"),
    "work": pattern("no operator runs for {took} of it{name}"),
    "call": pattern("{call} takes {took} of it"),
    "unseen": pattern("no operator runs for {took} of it, and the recording does not show what the host does"),
    "compute": pattern("operators run {took} more than in the others. A hypothesis: an evaluation, or a larger batch"),
    "shapes": pattern(
        "operators run {took} more than in the others, though they are the same ones on the same shapes. Something "
        "else may have had the processor meanwhile, or the memory"
    ),
    "operators": pattern(
        "operators run {took} more than in the others, though they are the same ones. A hypothesis: something else had "
        "the processor meanwhile, or the batch was larger"
    ),
}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what slow steps last longer with the time of all complete steps."""
    found = s(slow_steps)
    if found.steps:
        if _share(found) >= limits["min_share"]:
            yield _draft(found, said("Single steps last several times as long as the others"), limits)
        return
    found = s(longer_steps)
    if found.kind in _VARYING or found.more_ns < limits["min_ns"] or _share(found) < limits["min_longer"]:
        return
    yield replace(_draft(found, said("Single steps last longer than the others"), limits), key="longer")


def _share(found: LongSteps) -> float:
    """What slow steps last longer, as a share of all complete steps."""
    usual = found.typical_ns * (found.others + len(found.steps))
    return found.more_ns / max(usual + found.more_ns, 1)


def _draft(found: LongSteps, title: str, limits: Limits) -> Draft:
    number = found.others + len(found.steps)
    first = found.more_ns >= DWARFS * found.typical_ns * number
    return Draft(
        title=title,
        summary=said(
            "{which} where the {others} typical steps take {typical}: {doing}. Figures per step leave "
            "that out; {number} steps don't show how often it comes.",
            which=_which(found), others=found.others, typical=duration(found.typical_ns), doing=_doing(found),
            number=number,
        ),
        actions=_ACTIONS.get(found.kind, (_STACKS,)),
        taken_ns=found.more_ns // number if first or found.alone else None,
        placed_as_ns=found.more_ns // number if first else None,
        recorded_share=found.more_ns / found.recorded_ns,
        confidence=0.85 if found.kind else 0.7,
        ranges=found.ranges[:_MOST_NAMED],
        steps=found.steps,
        numbers={"more_ns": found.more_ns, "typical_ns": found.typical_ns, **limits},
        apart_from=() if found.kind == "communication" else ("COM006",),
    )  # fmt: skip


def _which(found: LongSteps) -> str:
    if len(found.steps) == 1:
        return said("Step {steps} lasts {longest}", steps=found.steps[0], longest=duration(found.longest_ns))
    named = ", ".join(map(str, found.steps[:_MOST_NAMED])) + (", ..." if len(found.steps) > _MOST_NAMED else "")
    return said(
        "{steps} steps ({named}) last up to {longest}",
        steps=len(found.steps), named=named, longest=duration(found.longest_ns),
    )  # fmt: skip


def _doing(found: LongSteps) -> str:
    name = (
        said(" ({name})", name=found.name)
        if found.kind == "compiling"
        else said(", most of it in {name}", name=found.name)
    )
    words = _ALONE if found.alone else _DOING
    return said(words[found.kind], took=duration(found.took_ns), name=name if found.name else "", call=found.name)


RULE = Rule(
    "HST020",
    "slow-steps",
    thresholds=(
        Threshold("min_share", 0.1, "share", "One step in ten that takes twice as long costs nearly as much."),
        Threshold("min_longer", 0.02, "share", "Hosts that nothing disturbs pause for up to 1 % of the time."),
        Threshold("min_ns", 1_000_000, "ns", "Shorter pauses are part of any process."),
    ),
    check=check,
    whole=True,
    symptom_of=("COM006",),
)
