"""More process groups than the ranks need.

## What it finds
Several process groups with the same ranks, or so many groups on an NPU that their buffers take a noticeable part of
its memory.

## Why it matters
Every communicator has buffers, streams and channels of its own on the device: HCCL takes 2 x `HCCL_BUFFSIZE` (2 x 200
MB by default) for each, NCCL some tens to hundreds of MB. Memory that holds buffers can't hold a larger batch, and
communicators that are used at the same time compete for the same links.

## How it decides
At least `min_same` groups with the same ranks carry collectives; or the buffers of all groups of an NPU reach
`min_memory` of its memory. It is advice: it costs memory rather than time.

## What to try
Reuse a group instead of creating another with the same ranks; on NPUs size each group's buffers after its largest
message.

## Known limits
Groups that exist but carry nothing in the recording are not seen. Frameworks create a few equal groups on purpose, so
that collectives on different streams do not wait for each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.ascend import environment
from stepscope.signals.communication.process_groups import ProcessGroup, groups
from stepscope.signals.shared.job import device, platform

#: HCCL_BUFFSIZE where it is not set, MB.
_BUFFER = 200

_REUSE = Action(
    "Create each group once and hand it around",
    before="for layer in layers:\n    layer.group = dist.new_group(ranks)",
    after="group = dist.new_group(ranks)\nfor layer in layers:\n    layer.group = group",
    page="collective-bandwidth",
)
_SIZE = Action(
    "Size each group's buffers after its largest message",
    before="HCCL_BUFFSIZE=200   # MB, for every group, twice",
    after="options = torch_npu._C._distributed_c10d.ProcessGroupHCCL.Options()\n"
    'options.hccl_config = {"hccl_buffer_size": 64}\n'
    'dist.new_group(ranks, backend="hccl", pg_options=options)',
    page="hccl-settings",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Count groups that are the same, and what all of them hold."""
    found = s(groups)
    ranks, most = _same(found)
    if most >= limits["min_same"]:
        yield Draft(
            title="Several process groups have the same ranks",
            summary=said(
                "{most} process groups consist of the same {ranks} ranks, and each holds buffers of its own.",
                most=most, ranks=len(ranks),
            ),
            actions=(_REUSE,),
            confidence=0.6,
            rows=({"table": "comm_overlap", "where": {"group": found[0].name}},),
            numbers={"groups": len(found), "same": most, "min_same": limits["min_same"]},
            key="same",
        )  # fmt: skip
    known = s(device)
    if s(platform) != "npu" or known is None or not known.memory_bytes:
        return
    held = len(found) * 2 * _buffer(s) << 20
    if held >= limits["min_memory"] * known.memory_bytes:
        yield Draft(
            title="Buffers of process groups take device memory",
            summary=said(
                "The {found} process groups hold about {held} of buffers ({share} of the device's memory).",
                found=len(found), held=quantity(held, "bytes"), share=percent(held / known.memory_bytes),
            ),
            actions=(_SIZE,),
            confidence=0.6,
            numbers={"groups": len(found), "buffers": held, "min_memory": limits["min_memory"]},
            key="memory",
        )  # fmt: skip


def _same(found: tuple[ProcessGroup, ...]) -> tuple[tuple[int, ...], int]:
    """The ranks that most groups have, and how many groups have them."""
    counted = Counter(group.ranks for group in found if len(group.ranks) > 1)
    return max(counted.items(), key=lambda item: (item[1], item[0]), default=((), 0))


def _buffer(s: Signals) -> int:
    told = (s.maybe(environment) or {}).get("HCCL_BUFFSIZE", "")
    return int(told) if told.isdecimal() else _BUFFER


RULE = Rule(
    "COM007",
    "many-groups",
    thresholds=(
        Threshold(
            "min_same", 4, "count", "PyTorch, FSDP and Megatron create up to three over the same ranks on purpose."
        ),
        Threshold("min_memory", 0.05, "share", "What msprof-analyze gives high priority, of memory instead of time."),
    ),
    check=check,
)
