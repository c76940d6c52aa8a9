"""The optimizer updates tensors one by one.

## What it finds
A step of an optimizer that calls several small operators for each parameter: a model with 200 parameters and Adam makes
some two thousand launches of kernels that each take a few microseconds.

## Why it matters
The host has to dispatch every one of them, and the device runs each for less time than it takes to launch it. Every
operator also reads and writes its tensors once more, where one pass could do all.

## How it decides
The optimizer's step must call `min_calls` operators or more that update one tensor each (`optimizer.tensor_updates`);
calls over lists of tensors (`_foreach_`) or fused ones rule it out, as do optimizers of `torch.optim` that have neither
(LBFGS, Muon, SparseAdam). Forward and backward passes of a closure that the step calls are not the optimizer's. The
price is what the step would save on its dependency graph with a fused optimizer: a few calls on the host, and on the
device one pass over parameters, gradients and state instead of one per operator. Where the recording has no device
work, the host may have done the arithmetic itself: then a fused optimizer saves the passes alone.

## What to try
`fused=True`, else `foreach=True`, in the optimizers of PyTorch; `NpuFusedAdamW` and its kin on Ascend; the fused
optimizers of Apex or DeepSpeed.

## Known limits
Optimizer steps are recognised by the range that `torch.optim` records around them. Custom optimizers without such a
range show only as short kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.language import listing, pattern, said
from stepscope.model.amounts import duration
from stepscope.model.events.change import Change, Scaled
from stepscope.model.intervals import distinct
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.host.optimizer import Updates, tensor_updates, updates
from stepscope.signals.shared.job import platform, recorded_steps

#: What a fused step takes on the host: groups of parameters are gathered and handed to a few kernels (torch.optim with
#: `fused=True`; some 100 µs for a few hundred parameters). It is no more than this part of the loop.
_FUSED_NS, HOST_LEFT = 100_000, 0.1
#: Tensors that one pass of a fused optimizer moves: parameter, gradient and two states read, three written; with plain
#: momentum five. A loop moves three for each of its operators.
_ADAM_MOVES, _SGD_MOVES, _LOOP_MOVES = 7, 5, 3
_ADAM_KINDS = 5
#: Kernels below this length mostly start and end; of these hardly anything is left.
_TINY_NS, _TINY_LEFT = 5_000, 0.1
#: Optimizers of torch.optim that take `fused=True` on CUDA and ROCm, the one that does so on the CPU alone (PyTorch
#: 2.8), and those with a fused version in torch_npu.optim.
_FUSED: Final = ("Adam", "AdamW", "SGD")
_FUSED_ON_HOST: Final = (*_FUSED, "Adagrad")
#: Optimizers of torch.optim with neither a fused version nor one over lists of tensors (PyTorch 2.13); LBFGS updates
#: one long vector.
_ALONE: Final = ("LBFGS", "Muon", "SparseAdam")
FUSED_FOR_NPUS: Final = ("Adadelta", "Adam", "AdamP", "AdamW", "BertAdam", "Lamb", "RMSprop", "RMSpropTF", "SGD")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the number of operators on single tensors with the threshold."""
    number = s(tensor_updates)
    if number < limits["min_calls"]:
        return
    found = s(updates)
    if found.name in _ALONE:
        return
    moves = _ADAM_MOVES if found.kinds >= _ADAM_KINDS else _SGD_MOVES
    left = min(moves / (_LOOP_MOVES * max(found.kinds, 1)), 1.0)
    tiny = found.kernel_ns < _TINY_NS
    times = (
        (found.kernel_ns.sum(), pattern("{time} of the device's time")),
        (found.host_ns, pattern("{time} of the host's")),
    )
    taken = [said(whose, time=duration(int(ns) // s(recorded_steps))) for ns, whose in times if ns]
    yield Draft(
        title="The optimizer updates tensors one by one",
        summary=said(
            "The optimizer calls {number:,} operators per step that update one tensor each", number=round(number)
        )
        + (said("; its steps take {taken}.", taken=listing(taken, " and ")) if taken else "."),
        actions=_actions(s(platform), found.name, found.on_device),
        change=Change(
            device=(Scaled(found.kernels[tiny], _TINY_LEFT), Scaled(found.kernels[~tiny], left)),
            host=(Scaled(distinct(np.append(found.events, found.handed)), _host_left(found, left)),),
        ),
        most_ns=sum(int(ns) for ns, _ in times) // s(recorded_steps) or None,
        confidence=0.95,
        events=np.concatenate((found.events[:10], found.kernels[:10])),
        numbers={tensor_updates.name: number, "min_calls": limits["min_calls"]},
    )


def _host_left(found: Updates, passes_left: float) -> float:
    """The part of the loop's time on the host that a fused step takes; without a device it does the work itself."""
    called = min(_FUSED_NS * found.number / max(found.host_ns, 1), HOST_LEFT)
    return called if found.on_device else max(called, passes_left)


def _actions(platform: str, name: str, on_device: bool) -> tuple[Action, ...]:
    """For the optimizer at hand; for AdamW where the recording does not name it."""
    named = name or "AdamW"
    # Lists of tensors are the default on devices alone.
    before = f"torch.optim.{named}(model.parameters(), lr=lr{', foreach=False' if on_device else ''})"
    lists = Action(
        "Or one over lists of tensors, where there is no fused one",
        before=before,
        after=f"torch.optim.{named}(model.parameters(), lr=lr, foreach=True)",
        page="fused-optimizers",
    )
    fused = f"torch.optim.{named}(model.parameters(), lr=lr, fused=True)"
    if platform == "npu":
        fused = f"import torch_npu\ntorch_npu.optim.NpuFused{named}(model.parameters(), lr=lr)"
    takers = FUSED_FOR_NPUS if platform == "npu" else _FUSED if on_device else _FUSED_ON_HOST
    if named not in takers:
        return (replace(lists, text=said("Use an optimizer that works on lists of tensors")),)
    first = Action("Use a fused optimizer", before=before, after=fused, page="fused-optimizers")
    return (first,) if platform == "npu" or not on_device else (first, lists)


RULE = Rule(
    "HST008",
    "optimizer-loop",
    thresholds=(
        Threshold(
            "min_calls",
            50,
            "per step",
            "PyTorch's own pattern matcher looks for _single_tensor_adam, sgd and adamw; fewer calls cost too little.",
        ),
    ),
    check=check,
)
