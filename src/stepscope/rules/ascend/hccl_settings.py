"""HCCL's settings do not suit the job's communication.

## What it finds
Recorded HCCL variables that were changed from their defaults, in a job whose communication is exposed.

## Why it matters
HCCL picks algorithm, buffers and service class by itself, and picks well. Values that suited another cluster or
release are a common cause of slow collectives; a buffer smaller than the message makes HCCL split it into chunks.

## How it decides
Exposed transfers of collectives take at least `min_share` of the step. Then each variable is
looked at: `HCCL_ALGO` set; `HCCL_RDMA_TC` or `HCCL_RDMA_SL` set where RDMA is used; `HCCL_DETERMINISTIC` on;
`HCCL_BUFFSIZE` smaller than the largest message. It is advice; the communication itself is priced
by the rules of its own family.

## What to try
Unset what is not needed, and size buffers after the largest message.

## Known limits
Only variables that the profiler recorded are known; nothing is said of others, nor of a default buffer: in chunks of
its 200 MB links reach their bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import percent, plural, quantity
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.ascend import environment
from stepscope.signals.communication.comm_tasks import parts
from stepscope.signals.communication.communication import calls, transfer_share


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at the variables if communication is exposed."""
    told = s(environment)
    share = s(transfer_share)
    if share < limits["min_share"]:
        return
    actions = [*_unset(s, told), *_buffers(s, told.get("HCCL_BUFFSIZE", ""))]
    if actions:
        yield Draft(
            title="HCCL settings may slow communication down",
            summary=said(
                "Exposed transfers take {share} of the step, with {settings} of HCCL that may slow them down.",
                share=percent(share), settings=plural(len(actions), "setting"),
            ),
            actions=tuple(actions),
            confidence=0.5,
            rows=({"table": "collectives", "where": {}},),
            numbers={transfer_share.name: share, **limits},
        )  # fmt: skip


def _unset(s: Signals, told: Mapping[str, str]) -> Iterator[Action]:
    moved = s.maybe(parts)
    remote = moved is not None and bool(np.isin(moved.transport, ("RDMA", "ROCE")).any())
    if told.get("HCCL_ALGO"):
        yield _action(said("Let HCCL choose the algorithm"), f"HCCL_ALGO={told['HCCL_ALGO']}", "unset HCCL_ALGO")
    for name, default in (("HCCL_RDMA_TC", "132"), ("HCCL_RDMA_SL", "4")):
        if remote and told.get(name, "") not in ("", default):
            text = said("Make sure that the switches' flow control protects this class, or go back to the default")
            yield _action(text, f"{name}={told[name]}", f"export {name}={default}")
    if told.get("HCCL_DETERMINISTIC", "").lower() in ("true", "strict"):
        text = said("Do without bitwise equal results where they are not needed")
        yield _action(text, "HCCL_DETERMINISTIC=true", "export HCCL_DETERMINISTIC=false")


def _buffers(s: Signals, told: str) -> Iterator[Action]:
    size = int(told) << 20 if told.isdecimal() else None
    largest = int(s(calls).bytes.max(initial=0))
    if size is not None and largest > size:
        text = said(
            "Try buffers larger than the largest message ({largest}) if memory allows: each group takes "
            "twice that of the device's",
            largest=quantity(largest, "bytes"),
        )
        yield _action(
            text,
            f"HCCL_BUFFSIZE={size >> 20}",
            f"export HCCL_BUFFSIZE={-(-largest // (1 << 20))}",
        )


def _action(text: str, before: str, after: str) -> Action:
    return Action(text, before=before, after=after, page="hccl-settings")


RULE = Rule(
    "ASC010",
    "hccl-settings",
    thresholds=(Threshold("min_share", 0.03, "share", "Exposed communication from which its own rule speaks."),),
    check=check,
)
