"""What would make a request possible for which nothing fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stepscope.model.amounts import quantity
from stepscope.planning.judge import judge
from stepscope.planning.layout import Layout, Recompute
from stepscope.planning.memory.total import USABLE
from stepscope.planning.request import Request
from stepscope.planning.result import JudgedPlan
from stepscope.planning.search.searching import search


def remedies(asked: Request, nearest: JudgedPlan | None) -> tuple[str, ...]:
    """Changes that would make it fit, as sentences, the least first.

    Args:
        asked: The request.
        nearest: The plan that comes nearest to fitting.
    """
    if nearest is None:
        return ("no layout divides that many devices with what is fixed: leave --tp, --pp, --dp or --micro-batch open",)
    need = quantity(nearest.memory.device_bytes, "bytes")
    has = quantity(nearest.memory.usable_bytes, "bytes")
    said = [f"the nearest layout needs {need} of {has} per device"]
    said += _choices(asked, nearest)
    if freed := _freed(asked):
        said.append(freed)
    if more := _devices(asked, nearest):
        said.append(f"{more} devices of the same kind would do")
    size = nearest.memory.device_bytes / USABLE
    said.append(f"devices with {quantity(size, 'bytes')} of memory would do in that layout")
    return tuple(said)


def _choices(asked: Request, plan: JudgedPlan) -> list[str]:
    """Single changes of the nearest layout that make it fit."""
    at = plan.layout
    options: list[tuple[str, Layout]] = [
        ("recomputing all layers", replace(at, recompute=Recompute.FULL, recomputed_layers=0)),
        ("a micro-batch of 1", replace(at, micro_batch=1)),
        ("ZeRO stage 1", replace(at, zero=max(1, at.zero))),
        ("sharded weights (ZeRO stage 3, FSDP)", replace(at, zero=3)),
        ("fused attention", replace(at, attention="flash")),
        ("the optimizer on the host", replace(at, offload="optimizer")),
        (f"sequences of {at.seq // 2:,} tokens", replace(at, seq=at.seq // 2)),
        (
            "recomputing all layers with the optimizer on the host",
            replace(at, recompute=Recompute.FULL, recomputed_layers=0, offload="optimizer", micro_batch=1),
        ),
    ]
    found = []
    for words, layout in options:
        if layout != at and judge(asked.shape, layout, asked.platform).memory.fits:
            found.append(f"{words} would make it fit")
    return found[:4]


def _freed(asked: Request) -> str:
    """Whether leaving choices open would do."""
    keep = ("seq", "global_batch", "precision", "framework", "attention", "optimizer")
    fixed = {name: value for name, value in asked.fixed.items() if name in keep}
    if fixed == dict(asked.fixed):
        return ""
    found, _, _ = search(replace(asked, fixed=fixed), 1)
    if not found:
        return ""
    one = found[0].layout
    how = one.recompute.value
    return (
        f"on the same devices, tp {one.tp}, pp {one.pp}, dp {one.dp}, micro-batch {one.micro_batch}, recompute {how}, "
        f"zero {one.zero} fits"
    )


#: Choices that more devices leave open again.
_OPEN: Final = ("tp", "pp", "dp", "micro_batch")


def _devices(asked: Request, nearest: JudgedPlan) -> int | None:
    """The least number of devices, of twice, four times, ..., for which something fits."""
    fixed = {name: value for name, value in asked.fixed.items() if name not in _OPEN}
    # So many times the devices divide all there is by as much at most, unless other choices open: twice that is safe.
    lacking = nearest.memory.device_bytes / nearest.memory.usable_bytes / 2 if set(fixed) == set(asked.fixed) else 0.0
    fixed.setdefault("offload", "none")
    for factor in (2, 4, 8, 16, 32, 64):
        if factor < lacking:
            continue
        number = asked.devices * factor
        batch = max(fixed["global_batch"], number)
        if search(replace(asked, devices=number, fixed={**fixed, "global_batch": batch}), 1)[0]:
            return number
    return None
