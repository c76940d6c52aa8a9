"""A compiled graph plans for much of the device's memory.

## What it finds
On NPUs, a graph that was compiled ahead of time and whose operators' memory, by its plan, takes a large part of the
device's.

## Why it matters
A graph takes its memory when it is loaded, and keeps it whatever runs. What it holds at its peak decides how large a
batch may be, and no setting of the allocator changes it.

## How it decides
By `static_memory`: what the graph holds at the node where it holds most, against the device's memory, must be
`min_share`. The operators that hold most of it then are named, and apart from them what is held through the whole graph
(its constants and what it never gives back). It is advice.

## What to try
Recompute what the backward pass needs, a smaller micro-batch, or a level of memory optimisation of the graph engine.

## Known limits
The plan may be shared among graphs that never run at the same time, and weights may lie outside of it. Needs the size
of the device's memory (`--memory`, where the chip is not known).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import listing, said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.static_graphs import largest_graph

_NAMED = 3
_RECOMPUTE = Action(
    "Recompute activations in the backward pass, so that the graph holds fewer of them",
    before="x = block(x)",
    after="x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)   # MindSpore: block.recompute()",
    page="activation-checkpointing",
)
_LEVEL = Action(
    "Let the graph engine reuse memory more",
    before='mindspore.set_context(memory_optimize_level="O0")',
    after='mindspore.set_context(memory_optimize_level="O1")',
    page="npu-operators",
    needs=("other python",),
)
_SMALLER = Action("Compile for a smaller micro-batch, and accumulate gradients", page="batch-size")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the largest graph's peak with the device's memory."""
    found = s(largest_graph)
    share = found.peak_bytes / found.device_bytes
    if share < limits["min_share"]:
        return
    holders = (said("{name} ({size})", name=name, size=quantity(held, "bytes")) for name, held in found.holders)
    yield Draft(
        title="A compiled graph plans for much of the memory",
        summary=said(
            "Graph {graph} holds {peak} at its peak, {share} of the device's memory: most by {named}. "
            "{kept} are held through the whole graph.",
            graph=found.graph, peak=quantity(found.peak_bytes, "bytes"), share=percent(share),
            named=listing([*holders][:_NAMED]),
            kept=quantity(found.kept_bytes, "bytes"),
        ),
        actions=(_RECOMPUTE, _LEVEL, _SMALLER),
        confidence=0.7,
        rows=({"table": "static_memory", "where": {"graph": found.graph}},),
        numbers={"share": round(share, 4), **limits},
    )  # fmt: skip


RULE = Rule(
    "MEM020",
    "static-graphs",
    thresholds=(
        Threshold("min_share", 0.5, "share", "Half of the device: what else a job holds is as much, as a rule."),
    ),
    check=check,
)
