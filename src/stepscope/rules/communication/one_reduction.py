"""All gradients reduced, or all parameters gathered, by one collective.

The former can't start before the last gradient is there, and nothing is computed before the latter ends.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.language import said
from stepscope.rules.finding import Action
from stepscope.signals.communication.communication import CollectiveCalls

#: Collectives that reduce gradients, or gather parameters, and how many of a step may be all there is: parameters are
#: gathered for the forward pass, and again for the backward pass.
_PASSES: Final = {"all_reduce": 1, "reduce_scatter": 1, "all_gather": 2}
#: They are if they carry this part of the time.
_MOST: Final = 0.9
#: What fits one bucket of DistributedDataParallel stays whole.
_BUCKET: Final = 25 << 20
DIVIDED: Final = (
    Action(
        "Reduce gradients in several buckets: each starts as soon as its own are ready",
        before="DistributedDataParallel(model, bucket_cap_mb=10000)",
        after="DistributedDataParallel(model, bucket_cap_mb=25, gradient_as_bucket_view=True)",
        page="overlapping-communication",
        needs=("trains", "ddp"),
    ),
    Action(
        "Shard each block on its own: the next block's parameters are gathered, and its gradients reduced, while this "
        "one computes",
        before="fully_shard(model)   # or FSDP(model) without auto_wrap_policy: all of it is one unit",
        after="for block in model.blocks:\n    fully_shard(block)\nfully_shard(model)\n"
        "# or: FSDP(model, auto_wrap_policy=ModuleWrapPolicy({Block}))",
        page="overlapping-communication",
        needs=("fsdp",),
    ),
    Action(
        "Let the compiler fuse gradients into several all-reduces, each of which starts when its own are ready",
        before='set_auto_parallel_context(parallel_mode="data_parallel")',
        after='set_auto_parallel_context(parallel_mode="data_parallel",\n'
        '    comm_fusion={"allreduce": {"mode": "size", "config": 32}})  # MiB',
        page="overlapping-communication",
        needs=("trains", "python", "mindspore"),
    ),
)


def in_one(found: CollectiveCalls, kind: str) -> bool:
    """Whether one call of each pass carries nearly all of what a kind takes, and more than a bucket."""
    mine = found.name == kind
    if kind not in _PASSES or not mine.any() or 0 <= found.bytes[mine].max() <= _BUCKET:
        return False
    step, dur = found.step[mine], found.dur[mine]
    order = np.lexsort((-dur, step))
    step, dur = step[order], dur[order]
    place = np.arange(step.size) - np.searchsorted(step, step)
    return bool(dur[place < _PASSES[kind]].sum() >= _MOST * dur.sum())


def divisible(kind: str) -> str:
    """What dividing such a call would change, as a part of a sentence."""
    if kind == "all_gather":
        return said(
            "one {kind} per pass carries nearly all of it, and nothing is computed before it ends; "
            "divided, parts of it could run beside what is computed with the first of them",
            kind=kind,
        )
    return said(
        "one {kind} per step carries nearly all of it, and waits for all that it reduces; divided, "
        "parts of it could run beside what is computed before it",
        kind=kind,
    )
