"""Communication stands in the way of compute.

## What it finds
Collectives during which the device computes nothing, though there is compute in the step that they could have run
beside: gradients that are reduced only when the backward pass is over, parameters that are gathered only when their
layer needs them.

## Why it matters
Links and compute units are different parts of the machine. A transfer that runs while layers are computed costs
nothing; one that everything waits for costs its whole length, on every rank.

## How it decides
The exposed part of collectives, as a share of the step, must reach `min_share`. Only transfer counts: what a
collective waits for a late rank is another problem, and overlapping it would not help
(`communication.transfer_share`). Where the recordings of all ranks are at hand, the transfer is the shortest
participant's time; on one rank alone waiting can't be told apart, which lowers the confidence. The price is what the
step would save on its dependency graph if other device work did not have to wait for these collectives, and if they
began as soon as their data is there: the last gradients, which nothing is left to hide, stay exposed. Where that would
save nothing since they begin at once and run back to back, there is no price, and the remedy is to send less.

## What to try
Let DistributedDataParallel reduce bucket by bucket during the backward pass in place of one reduction after it; with
FSDP, gather the next layer's parameters while this one computes. With gradient accumulation, reduce only once per
optimizer step. Where the transfers are longer than all the compute there is, send less: bf16 gradients, another
sharding.

## Known limits
Whether the result of a collective was needed at once is not visible: one whose result the next operator reads, as in
tensor parallelism, can't be overlapped by moving it. The price takes overlapped kernels to run as fast as alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.communication import Calls, calls, exposed_share, link_share, transfer_share
from stepscope.signals.communication.process_groups import megatron

#: A collective that took longer than this many times its transfer mostly waited.
_WAITED = 2

_REDUCE = Action(
    "Let DistributedDataParallel reduce gradients bucket by bucket while the backward pass still runs",
    before="loss.backward()\nfor p in model.parameters():\n    dist.all_reduce(p.grad)",
    after="model = DistributedDataParallel(model, gradient_as_bucket_view=True)\n"
    "loss.backward()  # each bucket is reduced as soon as it is full",
    page="overlapping-communication",
    needs=("gradients reduced by hand",),
)
_PREFETCH = Action(
    "Gather the parameters of the next layers while this one computes",
    before="FSDP(model)",
    after="FSDP(model, forward_prefetch=True, backward_prefetch=BackwardPrefetch.BACKWARD_PRE)\n"
    "# FSDP2: layer.set_modules_to_forward_prefetch([next_layer])",
    page="overlapping-communication",
)
_EXCHANGE = Action(
    "Split the batch in two, so that one half's exchange runs while the other half computes; issue it asynchronously",
    before="dist.all_to_all_single(out, tokens)",
    after="work = dist.all_to_all_single(out, tokens, async_op=True)\n"
    "...  # compute what does not need `out`\nwork.wait()",
    page="overlapping-communication",
)
_ACCUMULATE = Action(
    "With gradient accumulation, reduce only in the last micro-batch",
    before="loss.backward()",
    after="with model.no_sync():  # in all but the last micro-batch\n    loss.backward()",
    page="overlapping-communication",
    needs=("gradients are reduced",),
)
_COMPRESS = Action(
    "Send gradients in half the bytes where the link is what takes the time",
    before="model = DistributedDataParallel(model)",
    after="model = DistributedDataParallel(model, gradient_as_bucket_view=True)\n"
    "model.register_comm_hook(None, default_hooks.bf16_compress_hook)",
    page="overlapping-communication",
    needs=("ddp", "trains"),
)
_STAGES = Action(
    "Let more micro-batches go through the pipeline in each step, so that stages wait less for each other",
    before="--micro-batch-size 4 --global-batch-size 16",
    after="--micro-batch-size 1 --global-batch-size 16",
    page="pipeline-parallelism",
    needs=("trains",),
)
_FEWER = Action(
    "Split the model over fewer devices if it fits into their memory: each layer is exchanged by fewer ranks",
    before="vllm serve MODEL --tensor-parallel-size 8",
    after="vllm serve MODEL --tensor-parallel-size 4 --data-parallel-size 2",
    page="serving",
)
_MEGATRON = Action(
    "Let Megatron reduce gradients during the backward pass, and gather parameters during the forward pass",
    before="--use-distributed-optimizer",
    after="--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather\n"
    "# tensor parallelism: --tp-comm-overlap",
    page="overlapping-communication",
)
#: What reduces gradients is seen on the host only.
_EITHER = Action(
    "Reduce gradients while the backward pass still runs: DistributedDataParallel does it by itself, Megatron and its "
    "like when told to",
    before="--use-distributed-optimizer",
    after="--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
    page="overlapping-communication",
    needs=("host not recorded", "gradients are reduced"),
)
_ASIDE = Action(
    "Issue it asynchronously as soon as its data is there, and wait only where its result is read",
    before="dist.broadcast(batch, src=0)",
    after="work = dist.broadcast(batch, src=0, async_op=True)\n...  # what does not need `batch`\nwork.wait()",
    page="overlapping-communication",
)
_SHARDED = ("all_gather", "reduce_scatter")
#: Where collectives run for this share of the step, no other order of work hides them.
_FULL = 0.8
#: What is exposed for this share of the step is said though no order of work would hide it.
_LARGE = 0.1
_LESS = Action(
    "Send less, or over a faster link: shard within a host only, in narrower types, more computing per exchange",
    before="fully_shard(model)",
    after="mesh = init_device_mesh('cuda', (hosts, 8), mesh_dim_names=('copies', 'shards'))\n"
    "fully_shard(model, mesh=mesh)  # parameters are gathered within a host, gradients reduced between hosts",
    page="collective-bandwidth",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Hold the exposed transfer against the step."""
    share = s(transfer_share)
    if share < limits["min_share"]:
        return
    found = s(calls)
    costly = np.argsort(-found.exposed_transfer, kind="stable")
    movable = (found.exposed > 0) & (found.dur <= _WAITED * found.transfer)
    kind = _costliest(found)
    exposed = int(found.exposed_transfer.sum()) // found.steps
    busy = s.maybe(link_share)
    full = busy is not None and busy >= _FULL
    apart = "" if found.known else "; on the recordings at hand, waiting for other ranks can't be told apart from that"
    overlapping = Draft(
        title="Communication stands in the way of compute",
        summary=f"{duration(exposed)} of each step ({percent(share)}) are "
        f"collectives, mostly {kind}, that nothing is computed behind{apart}.",
        actions=_actions(kind, s.maybe(megatron) is True),
        change=Change(overlapped=found.event[movable]) if movable.any() else None,
        most_ns=exposed,
        confidence=0.9 if found.known else 0.6,
        events=found.event[costly[:20]],
        rows=({"table": "collectives", "where": {"name": kind}},),
        numbers={
            transfer_share.name: share,
            exposed_share.name: s(exposed_share),
            "min_share": limits["min_share"],
        },
    )
    if busy is None:
        yield overlapping
        return
    sooner = "" if full else ", and begin when their data is there"
    bound = replace(
        overlapping,
        summary=f"{overlapping.summary} They run for {percent(busy)} of the step{sooner}: no order of work hides "
        f"{'them' if full else 'more of them'}.",
        actions=_fewer_bytes(kind) or overlapping.actions,
        change=None,
        most_ns=None,
        taken_ns=exposed,
        waiting=True,
    )
    yield bound if full else replace(overlapping, instead=bound if share >= _LARGE else None)


def _costliest(found: Calls) -> str:
    names, index = np.unique(found.name, return_inverse=True)
    return str(names[np.bincount(index, weights=found.exposed_transfer).argmax()])


def _actions(kind: str, of_megatron: bool) -> tuple[Action, ...]:
    if kind in (*_SHARDED, "all_reduce") and of_megatron:
        return (_MEGATRON,)
    if kind in _SHARDED:
        return _EITHER, _PREFETCH, _ACCUMULATE
    if kind == "all_to_all":
        return (_EXCHANGE,)
    if kind in ("send", "recv", "send_recv"):
        return (_STAGES,)
    if kind in ("all_reduce", "reduce"):
        return _REDUCE, _EITHER, _COMPRESS, _ACCUMULATE, _FEWER
    return _ASIDE, _FEWER


def _fewer_bytes(kind: str) -> tuple[Action, ...]:
    """What shortens collectives that nothing hides."""
    if kind in _SHARDED:
        return _LESS, _ACCUMULATE
    return (_COMPRESS, _ACCUMULATE, _FEWER) if kind in ("all_reduce", "reduce") else ()


RULE = Rule(
    "COM001",
    "exposed-communication",
    thresholds=(
        Threshold(
            "min_share",
            0.03,
            "share",
            "Least share to which msprof-analyze gives medium priority; TraceLens' agent "
            "looks at 5 %, torch-tb-profiler at 10 % of communication, overlapped or not.",
        ),
    ),
    check=check,
    symptom_of=("COM002", "COM003", "COM006", "COM008", "COM009", "CLU001", "CLU002", "CLU003", "CLU006"),
)
