"""All gradients reduced by one collective, which can't start before the last of them is there."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.rules.finding import Action
from stepscope.signals.communication.communication import CollectiveCalls

#: Collectives that reduce gradients.
_REDUCING: Final = ("all_reduce", "reduce_scatter")
#: One call per step is all there is to reduce if it carries this part of the time.
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
        "Let the compiler fuse gradients into several all-reduces, each of which starts when its own are ready",
        before='set_auto_parallel_context(parallel_mode="data_parallel")',
        after='set_auto_parallel_context(parallel_mode="data_parallel",\n'
        '    comm_fusion={"allreduce": {"mode": "size", "config": 32}})  # MiB',
        page="overlapping-communication",
        needs=("trains", "python", "mindspore"),
    ),
)


def in_one(found: CollectiveCalls, kind: str) -> bool:
    """Whether one call of each step carries nearly all of what a reduction takes, and more than a bucket."""
    mine = found.name == kind
    if kind not in _REDUCING or not mine.any() or 0 <= found.bytes[mine].max() <= _BUCKET:
        return False
    longest = np.zeros(int(found.step[mine].max()) + 1, np.int64)
    np.maximum.at(longest, found.step[mine], found.dur[mine])
    return bool(longest.sum() >= _MOST * found.dur[mine].sum())
