"""The model runs on the processor, beside a device that does nothing or without one.

## What it finds
Recordings that name a device, and whose operators run on the host's processor. Of a program that no device is seen of:
the operators that take its time.

## Why it matters
A model or an input that was left on the host, or a build of the framework without the device's platform, computes there
without any message, many times slower. It is the first thing to know of such a recording. A program without a device is
as fast as the processor computes its operators: which of them take the time says what to do.

## How it decides
There is no device activity and no launch of any; a device is named; and the operators are those of libraries that only
run on a processor (oneDNN, XNNPACK, ...) while no memory of a device is allocated, or operators that multiply matrices
take most of the time where a device would only have been given them (`ran_on.ran_on`). Operators of a device's
libraries, device memory, and reads that wait speak against it. They must take `min_share` of the recording. What a
device would save is unknown, so there is no price.

Without a device, and without a sign of one, operators must run for `min_operators` of the recording, or of its typical
steps, which last `min_ns` or more; they are ranked by the time that they take without those that they call, on all
threads. Where operators run for less, gaps of less than a millisecond between them take longer than they do, and both
come to `min_calling`, Python takes the time to call them. What runs while code is compiled does not count. Where
`min_short` of their time is in calls of less than 20 µs, calling them is what takes the time, and larger calls are
advised instead of more cores, as where backward passes that the program wrote in Python take three tenths by
themselves. On a busy machine short calls look long where they lost the processor: calls that take five times as long as
half of ten or more of the same operator, on the same inputs as far as these are recorded, are added to the short ones.
Where half of it is in operators on double precision, or in copies, that is advised on first, and so it is where three
tenths of it go to adding up rows by index or, as shapes tell, to operators on a whole table of embeddings: one with
gradients that are not sparse, with ten times as many rows as a call looks up, and that nothing is multiplied by. The
same holds of a tensor to which every one of four steps or more, or a hundred calls where no steps are known, append by
joining it with something (`growing.growing`), and of scores of attention of 256 rows and columns or more between two
multiplications (`plain_attention.plain_attention`), as shapes tell. Where ranks exchange data through the host,
operators of c10d and nodes of the autograd engine do not count, since they hold waits for other ranks.

## What to try
Move the model and its inputs to the device. Where the processor is meant: use all of its cores, compile, and compute in
bfloat16, unless most time goes to numbers of 16 bits or any to quantised ones already.

## Known limits
A profiler that never sees the device, as on Apple's, leaves host operators alone; those are recognised by operators
that only such devices have. Others that leave no trace on the host look like a processor that computes.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.shared.processor_alone import without_device
from stepscope.rules.shared.processor_remedies import THREADS, moved
from stepscope.signals import Signals
from stepscope.signals.host.own_operators import own_operators
from stepscope.signals.shared.job import platform, span_ns
from stepscope.signals.shared.ran_on import ran_on


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Ask where the operators ran, and which of them take the time where there is no device."""
    alone = s.maybe(own_operators)
    if alone is not None:
        yield from without_device(s, alone, limits)
        return
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
        actions=(moved(s.maybe(platform) or ""), THREADS),
        taken_ns=found.took_ns,
        placed_as_ns=found.took_ns,
        confidence=0.9 if found.sure else 0.6,
        rows=({"table": "operators", "where": {"name": found.mark}},),
        numbers={"took_ns": found.took_ns, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST019",
    "on-processor",
    thresholds=(
        Threshold("min_share", 0.3, "share", "What takes less is a part of the program beside others."),
        Threshold("min_operators", 0.5, "share", "Where less is operators, what lies between them comes first."),
        Threshold("min_calling", 0.7, "share", "With more between them than HST015 wants, that is about it."),
        Threshold("min_short", 0.5, "share", "Where most time is in short calls, faster arithmetic gains little."),
        Threshold("min_ns", 5_000_000, "ns", "What is shorter is a call or two, mostly of their first use."),
    ),
    check=check,
    whole=True,
)
