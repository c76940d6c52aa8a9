"""The program waits for numbers of a device that is not recorded.

## What it finds
`.item()`, `float(tensor)`, `if tensor:` and other reads of one number that take far longer than reading memory, in
recordings without calls of a runtime: on Apple's devices, or where only the host was recorded.

## Why it matters
A number that is there is read within a microsecond. A read that takes longer waits until the device is done with all
that came before it; meanwhile the host launches nothing, and the device idles afterwards until it is fed again.

## How it decides
Of the recorded reads of a number those count that take 100 µs or more (`ran_on.slow_reads`), unless the operators are
known to run on the processor; there must be `min_reads` of them, which together take `min_share` of the recording.
There is no price: what the device does meanwhile is not recorded, and without the reads the program waits for it
elsewhere.

## What to try
Read fewer numbers: gather those of many tensors into one, keep losses and norms on the device, and read them together,
once in many steps.

## Known limits
A page fault or a pause of the process within a read looks the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import infers, recorded_steps
from stepscope.signals.shared.ran_on import ran_on, slow_reads

#: Losses and metrics of a step are fewer.
_FEW = 8
_TOGETHER = Action(
    "Gather the numbers on the device, and read them once",
    before="for p in model.parameters():\n    norms.append(p.grad.norm().item())",
    after="norms = torch.stack([p.grad.norm() for p in model.parameters()]).tolist()",
    page="synchronisation",
)
_LATER = Action(
    "Keep the number on the device and read it once in many steps",
    before="total += loss.item()",
    after="total += loss.detach()\nif step % 100 == 0:\n    print(total.item() / 100)",
    page="synchronisation",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare slow reads with the recording."""
    found, where = s(slow_reads), s.maybe(ran_on)
    share = found.total_ns / found.recorded_ns
    if found.waited < limits["min_reads"] or share < limits["min_share"]:
        return
    if where is not None and where.where == "cpu":
        return
    device = said("an Apple device") if where is not None and where.where == "mps" else said("a device")
    yield Draft(
        title="The host waits for numbers from a device that is not recorded",
        summary=said(
            "{waited:,} of {number:,} reads of a number (aten::item) take {total} ({share} of the "
            "recording), the longest {longest}, where reading memory takes a microsecond: they wait for "
            "work of {device}, of which nothing is recorded.",
            waited=found.waited, number=found.number, total=duration(found.total_ns), share=percent(share),
            longest=duration(found.longest_ns), device=device,
        ),
        actions=_actions(s, found.number),
        taken_ns=found.total_ns,
        confidence=0.75,
        events=found.events[:20],
        rows=({"table": "operators", "where": {"name": "aten::item"}},),
        numbers={"waited": found.waited, "total_ns": found.total_ns, **limits},
    )  # fmt: skip


def _actions(s: Signals, reads: int) -> tuple[Action, ...]:
    """One number or two of a step are read less often; many are of as many tensors, and read together."""
    if s.maybe(infers):
        return (_TOGETHER,)
    return (_TOGETHER, _LATER) if reads > _FEW * s(recorded_steps) else (_LATER, _TOGETHER)


RULE = Rule(
    "SYN006",
    "unrecorded-waits",
    thresholds=(
        Threshold("min_share", 0.05, "share", "As for other time in which one side waits for the other."),
        Threshold("min_reads", 3, "count", "One or two may be page faults, or pauses of the process."),
    ),
    check=check,
    whole=True,
)
