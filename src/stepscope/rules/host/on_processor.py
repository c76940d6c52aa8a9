"""The model runs on the processor, beside a device that does nothing.

## What it finds
Recordings that name a device, and whose operators run on the host's processor.

## Why it matters
A model or an input that was left on the host, or a build of the framework without the device's platform, computes there
without any message, many times slower. It is the first thing to know of such a recording.

## How it decides
There is no device activity and no launch of any; a device is named; and the operators are those of libraries that only
run on a processor (oneDNN, XNNPACK, ...) while no memory of a device is allocated, or operators that multiply matrices
take most of the time where a device would only have been given them (`ran_on.ran_on`). Operators of a device's
libraries, device memory, and reads that wait speak against it. They must take `min_share` of the recording. What a
device would save is unknown, so there is no price.

## What to try
Move the model and its inputs to the device. Where the processor is meant: use all of its cores, and bfloat16.

## Known limits
A profiler that never sees the device, as on Apple's, leaves host operators alone; those are recognised by operators
that only such devices have.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import torch_device
from stepscope.signals import Signals
from stepscope.signals.host.ran_on import ran_on
from stepscope.signals.shared.job import platform, span_ns

_THREADS = Action(
    "If the processor is what you want: compile for it, compute in bfloat16 where it is faster, and give it its cores",
    before="y = model(x)",
    after='torch.set_num_threads(physical_cores)\nmodel = torch.compile(model)\nwith torch.autocast("cpu", '
    "torch.bfloat16):\n    y = model(x)",
    page="host-cores",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Ask where the operators ran."""
    found = s(ran_on)
    if found.where != "cpu" or not found.listed or found.took_ns < limits["min_share"] * s(span_ns):
        return
    how = (
        said("which only runs on a processor")
        if found.sure
        else said(
            "which the host of a device would only have launched: that it runs on the processor is inferred from this "
            "time, and the second line would show it"
        )
    )
    yield Draft(
        title="The model runs on the CPU",
        summary=said(
            "Its operators take {of} on the host and launch nothing on a device, though the recording "
            "names one ({listed}): {took} ({share}) are {mark} and its like, {how}.",
            of=duration(found.of_ns), listed=found.listed, took=duration(found.took_ns),
            share=percent(found.took_ns / found.of_ns), mark=found.mark, how=how,
        ),
        actions=(_moved(s.maybe(platform) or ""), _THREADS),
        taken_ns=found.took_ns,
        placed_as_ns=found.took_ns,
        confidence=0.9 if found.sure else 0.6,
        rows=({"table": "operators", "where": {"name": found.mark}},),
        numbers={"took_ns": found.took_ns, **limits},
    )  # fmt: skip


def _moved(where: str) -> Action:
    device = torch_device(where)
    return Action(
        "Move the model and its inputs to the device",
        before="model = build()\ny = model(x)",
        after=f'model = build().to("{device}")\ny = model(x.to("{device}"))\n'
        f"print(next(model.parameters()).device, x.device)  # cpu: it was left on the host\n"
        f"print(torch.{device}.is_available())  # False: a build without it, or no driver",
    )


RULE = Rule(
    "HST019",
    "on-processor",
    thresholds=(Threshold("min_share", 0.3, "share", "What takes less is a part of the program beside others."),),
    check=check,
    whole=True,
)
