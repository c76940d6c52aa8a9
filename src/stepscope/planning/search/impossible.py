"""What would make a request possible for which nothing fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stepscope.language import said
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
        return (
            said(
                "no layout divides that many devices with what is fixed: leave --tp, --pp, --dp or --micro-batch open"
            ),
        )
    need = quantity(nearest.memory.device_bytes, "bytes")
    has = quantity(nearest.memory.usable_bytes, "bytes")
    lines: list[str] = [said("the nearest layout needs {need} of {has} per device", need=need, has=has)]
    lines += _choices(asked, nearest)
    if freed := _freed(asked):
        lines.append(freed)
    if more := _devices(asked, nearest):
        lines.append(said("{more} devices of the same kind would do", more=more))
    size = nearest.memory.device_bytes / USABLE
    lines.append(said("devices with {size} of memory would do in that layout", size=quantity(size, "bytes")))
    return tuple(lines)


def _choices(asked: Request, plan: JudgedPlan) -> list[str]:
    """Single changes of the nearest layout that make it fit."""
    at = plan.layout
    options: list[tuple[str, Layout]] = [
        (said("recomputing all layers"), replace(at, recompute=Recompute.FULL, recomputed_layers=0)),
        (said("a micro-batch of 1"), replace(at, micro_batch=1)),
        (said("ZeRO stage 1"), replace(at, zero=max(1, at.zero))),
        (said("sharded weights (ZeRO stage 3, FSDP)"), replace(at, zero=3)),
        (said("fused attention"), replace(at, attention="flash")),
        (said("the optimizer on the host"), replace(at, offload="optimizer")),
        (said("sequences of {seq:,} tokens", seq=at.seq // 2), replace(at, seq=at.seq // 2)),
        (
            said("recomputing all layers with the optimizer on the host"),
            replace(at, recompute=Recompute.FULL, recomputed_layers=0, offload="optimizer", micro_batch=1),
        ),
    ]
    found: list[str] = []
    for words, layout in options:
        if layout != at and judge(asked.shape, layout, asked.platform).memory.fits:
            found.append(said("{words} would make it fit", words=words))
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
    return said(
        "on the same devices, tp {tp}, pp {pp}, dp {dp}, micro-batch {micro_batch}, recompute {how}, zero {zero} fits",
        tp=one.tp,
        pp=one.pp,
        dp=one.dp,
        micro_batch=one.micro_batch,
        how=how,
        zero=one.zero,
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
