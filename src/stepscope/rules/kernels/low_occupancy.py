"""Long kernels run on a small part of the device.

## What it finds
Kernels of 20 µs and more, other than matrix multiplications, with fewer blocks than half of the device's SMs or CUs.

## Why it matters
An SM or CU without a block idles until the kernel ends, unless another kernel runs beside it.

## How it decides
From the recorded grid and the device's number of SMs or CUs (table `occupancy_grids`, column `fill`). These kernels
must take `min_share` of the step. The price assumes that they fill the device, but at least half of their time stays,
since what limits the number of blocks (a long dimension that is summed) has a cost of its own.

## What to try
More parallel work per launch: larger batches, one call for several tensors, a reduction in two stages; or other work
beside it on another stream. Matrix multiplications with few, large blocks are right as they are and do not count.

## Known limits
Occupancy within an SM is not judged: for kernels bound by memory a quarter of the threads may be enough.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, scaled_each
from stepscope.model.kernel_names import classify
from stepscope.model.program import Program
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.library_kernels import is_library, more_blocks
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.grid_coverage import sparse
from stepscope.signals.shared.job import per_step
from stepscope.signals.shared.program import program
from stepscope.signals.shared.step_columns import longest

_MORE = Action(
    "Give each launch more to do: stack what is computed in a loop, or raise the batch",
    before="losses = [f(x) for x in parts]",
    after="losses = torch.vmap(f)(torch.stack(parts))",
)
_BESIDE = Action("Run independent work beside it", page="streams")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of such kernels with the step."""
    found = s(sparse)
    if not found.event.size or found.of_step * found.saved < limits["min_share"]:
        return
    worst, taken = found.rows[0], duration(per_step(s, found.dur.sum()))
    name, idle = str(worst["name"]), percent(1 - worst["fill"], 0)
    yield Draft(
        title="Long kernels use a small part of the device",
        summary=said(
            "Kernels that take {taken} per step have fewer blocks than half of the SMs or CUs; the "
            "longest, {short}, has {blocks:.0f} and leaves {idle} of them idle.",
            taken=taken, short=classify(name).short, blocks=worst["blocks"], idle=idle,
        ),
        actions=_actions(name, s.maybe(program)),
        change=Change(device=scaled_each(found.event, found.factor)),
        confidence=0.6,
        events=longest(found.event, found.dur),
        rows=tuple({"table": "occupancy_grids", "where": {"name": name}} for name in found.names[:3]),
        numbers={f"{sparse.name}.of_step": round(found.of_step, 4), "min_share": limits["min_share"]},
    )  # fmt: skip


def _actions(name: str, told: Program | None) -> tuple[Action, ...]:
    """What gives it more blocks; batch normalisation has as many as channels, whatever the batch."""
    if told is not None and is_library(name, told):
        return (more_blocks(name), _BESIDE)
    if told is not None and told.native and told.language != "python":
        return (native.MORE_BLOCKS, _BESIDE)
    return (_MORE, _BESIDE)


RULE = Rule(
    "KRN004",
    "low-occupancy",
    thresholds=(
        Threshold("min_share", 0.02, "share", "Reductions of few blocks are usual; together they may take this much."),
    ),
    check=check,
)
