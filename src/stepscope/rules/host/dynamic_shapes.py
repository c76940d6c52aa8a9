"""Changing shapes make the job recompile.

## What it finds
Recompilation in steps whose operators have other shapes than those of the steps before.

## Why it matters
Compiled code, captured graphs and tuned kernels are made for shapes. Every new one has to be compiled or tuned first,
and the next epoch brings others.

## How it decides
Compilation must take `min_share` of the mean step (`compiling.compiling_share`), and the shapes seen in all steps must
be `min_variety` times those of one step (`compiling.shape_variety`). The price is what the step would save on its
dependency graph without compiling.

## What to try
Bring shapes to a few: pad to multiples, group samples of similar length, drop the last incomplete batch. Tell the
compiler which dimensions vary.

## Known limits
Needs shapes (`record_shapes=True`) over at least two steps. Shapes that vary and cost nothing are not reported here;
for what they do to memory see MEM004.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.host.recompilation import WHY
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.compiling import compilations, compiling_share, shape_variety

_FEW = Action(
    "Bring batches to a few shapes",
    before="batch = pad_sequence(samples, batch_first=True)",
    after="length = 64 * -(-max(len(s) for s in samples) // 64)  # multiples of 64\n"
    "batch = torch.stack([F.pad(s, (0, length - len(s))) for s in samples])  # and DataLoader(..., drop_last=True)",
    page="recompilation",
)
_DYNAMIC = Action(
    "Tell the compiler which dimensions vary",
    before="model = torch.compile(model)",
    after="model = torch.compile(model, dynamic=True)\n# or: torch._dynamo.mark_dynamic(tokens, 1)",
    page="recompilation",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare compilation and the variety of shapes with their thresholds."""
    found = s(compilations)
    if not found.events.size or s(compiling_share) < limits["min_share"]:
        return
    variety = s(shape_variety)
    if variety < limits["min_variety"]:
        return
    yield Draft(
        title="Changing shapes make the job recompile",
        summary=said(
            "Compilation takes {compiling_share} of the time; all steps together have {variety:.1f} times "
            "the shapes of one step.",
            compiling_share=percent(s(compiling_share)), variety=variety,
        ),
        actions=(_FEW, _DYNAMIC, WHY),
        change=Change(host=(Scaled(found.events, 0.0),)),
        confidence=0.8,
        events=found.events[:20],
        numbers={compiling_share.name: s(compiling_share), shape_variety.name: variety, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST011",
    "dynamic-shapes",
    thresholds=(
        Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),
        Threshold("min_variety", 1.2, "ratio", "A fifth of the shapes differs; a last batch alone changes fewer."),
    ),
    check=check,
)
