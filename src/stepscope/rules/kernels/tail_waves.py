"""The last wave of large GEMMs is nearly empty.

## What it finds
Matrix multiplications of a few waves of blocks that are slow because the last wave occupies a part of the device only.

## Why it matters
The device runs as many blocks at a time as it holds. A GEMM of 1.1 waves takes as long as one of two.

## How it decides
Waves follow from grid, threads, registers and shared memory (table `occupancy`). A kernel counts if it has at most five
waves, a tenth and more of the places in them empty, takes 50 µs, is bound by its arithmetic, and comes less close to
the device's peak than launches of the same kernel with full or many waves, by at least half of what the empty places
explain. What full waves would save must reach `min_share` of the step.

## What to try
Sizes that give whole waves, larger batches, fewer and larger GEMMs (queries, keys and values in one), `torch.bmm` in
place of a loop. Newer libraries divide such GEMMs evenly (stream-K): update them.

## Known limits
GEMMs whose FLOPs are not known, and kernels that were never launched with full waves, can't be compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, scaled_each
from stepscope.model.kernel_names import classify
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.waves import tails
from stepscope.signals.shared.job import per_step
from stepscope.signals.shared.step_columns import longest

_WHOLE = Action("Choose batch, tokens or width so that the blocks fill whole waves", page="tensor-shapes")
_ONE = Action(
    "Merge several GEMMs into one",
    before="q, k, v = self.q(x), self.k(x), self.v(x)",
    after="q, k, v = self.qkv(x).chunk(3, dim=-1)",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what full waves would save with the step."""
    found = s(tails)
    if not found.event.size or found.saved < limits["min_share"]:
        return
    taken = duration(per_step(s, found.dur.sum()))
    yield Draft(
        title="The last wave of GEMMs is nearly empty",
        summary=said(
            "GEMMs that take {taken} per step are slower than others because their blocks do not fill "
            "whole waves; the longest, {short}, has {waves:.1f} waves, with {tail} of their places empty.",
            taken=taken, short=classify(found.name).short, waves=found.waves, tail=percent(found.tail, 0),
        ),
        actions=(_WHOLE, _ONE),
        change=Change(device=scaled_each(found.event, found.factor)),
        confidence=0.6,
        events=longest(found.event, found.dur),
        rows=({"table": "occupancy", "where": {"name": found.name}},),
        numbers={f"{tails.name}.saved": round(found.saved, 4), "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "KRN005",
    "tail-waves",
    thresholds=(Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),),
    check=check,
)
