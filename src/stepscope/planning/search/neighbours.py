"""What each neighbouring choice would bring or cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.planning.judge import judge
from stepscope.planning.layout import Framework, Layout, Recompute, Schedule, check
from stepscope.planning.planned import Neighbour
from stepscope.planning.request import Request, usual_precision
from stepscope.planning.result import JudgedPlan

#: Changes that are shown at most.
_MOST: Final = 14


def neighbours(asked: Request, plan: JudgedPlan) -> tuple[Neighbour, ...]:
    """Plans one choice away, the fastest that fit first, then those that do not fit."""
    found, seen = [], {plan.layout}
    for what, layout in _changes(asked, plan.layout):
        if layout in seen or asked.devices % layout.devices:
            continue
        seen.add(layout)
        try:
            check(layout, asked.shape.layers, asked.shape.heads, asked.shape.experts, asked.devices)
        except UserError:
            continue
        other = judge(asked.shape, layout, asked.platform)
        per_sequence = (other.step_ns / layout.global_batch) / (plan.step_ns / plan.layout.global_batch)
        found.append(Neighbour(what, other, per_sequence))
    found.sort(key=lambda one: (not one.plan.memory.fits, one.times))
    return tuple(found[:_MOST])


def _changes(asked: Request, at: Layout) -> Iterator[tuple[str, Layout]]:
    yield from _sizes(asked, at)
    for micro in (at.micro_batch * 2, at.micro_batch // 2):
        if micro and at.global_batch % (at.dp * micro) == 0:
            yield said("micro-batch {micro}", micro=micro), replace(at, micro_batch=micro)
    yield from _recomputations(asked, at)
    for zero in (at.zero - 1, at.zero + 1):
        if 0 <= zero <= 3 and at.dp * at.cp > 1:
            yield said("ZeRO stage {zero}", zero=zero), replace(at, zero=zero)
    if at.pp > 1:
        for virtual in (at.virtual_stages * 2, max(1, at.virtual_stages // 2)):
            schedule = Schedule.INTERLEAVED if virtual > 1 else Schedule.ONE_F_ONE_B
            yield (
                said("{virtual} chunks per stage", virtual=virtual),
                replace(at, virtual_stages=virtual, schedule=schedule),
            )
        yield said("zero-bubble schedule"), replace(at, schedule=Schedule.ZERO_BUBBLE, virtual_stages=1)
    if at.tp > 1:
        words = said("with sequence parallelism")
        if at.sequence_parallel:
            words = said("without sequence parallelism")
        yield words, replace(at, sequence_parallel=not at.sequence_parallel)
    yield said("twice the global batch"), replace(at, global_batch=2 * at.global_batch)
    if "fp8" in asked.platform.peaks and at.precision != "fp8":
        yield "fp8", replace(at, precision="fp8")
    if at.precision == "fp8":
        yield usual_precision(asked.platform), replace(at, precision=usual_precision(asked.platform))
    if at.framework in (Framework.FSDP,) and not at.compiled:
        yield said("compiled"), replace(at, compiled=True)
    if not at.fused_loss and not asked.shape.fused_loss:
        yield said("loss in one kernel"), replace(at, fused_loss=True)
    if at.offload == "none":
        yield said("optimizer on the host"), replace(at, offload="optimizer", zero=max(1, at.zero))


def _sizes(asked: Request, at: Layout) -> Iterator[tuple[str, Layout]]:
    """Half or twice a group, paid for by another one."""
    for first, second in (("tp", "dp"), ("tp", "pp"), ("pp", "dp"), ("cp", "dp"), ("ep", "")):
        for more, less in ((first, second), (second, first)):
            values: dict[str, Any] = {}
            if more:
                values[more] = 2 * getattr(at, more)
            if less:
                if getattr(at, less) % 2:
                    continue
                values[less] = getattr(at, less) // 2
            if more == "ep" and not asked.shape.experts:
                continue
            if "tp" in values:
                values["sequence_parallel"] = values["tp"] > 1 and (at.sequence_parallel or at.tp == 1)
            layout = replace(at, **values)
            if layout.pp * layout.virtual_stages > asked.shape.layers or layout.pp == 1:
                layout = replace(layout, virtual_stages=1, schedule=Schedule.ONE_F_ONE_B)
            if layout.global_batch % (layout.dp * layout.micro_batch):
                continue
            yield ", ".join(f"{name} {value}" for name, value in values.items() if isinstance(value, int)
                            and not isinstance(value, bool)), layout  # fmt: skip


def _recomputations(asked: Request, at: Layout) -> Iterator[tuple[str, Layout]]:
    layers = asked.shape.layers
    fsdp = at.framework in (Framework.FSDP, Framework.TORCHTITAN)
    kinds = [(Recompute.NONE, 0), (Recompute.OPERATORS if fsdp else Recompute.SELECTIVE, 0),
             *([] if fsdp else [(Recompute.MODULES, 0)]),
             *([] if fsdp or not asked.shape.experts else [(Recompute.EXPERTS, 0)]),
             (Recompute.LAYERS, max(1, layers // 2)), (Recompute.FULL, 0)]  # fmt: skip
    for kind, number in kinds:
        if kind is Recompute.SELECTIVE and at.attention != "unfused":
            continue
        words = (
            said("{number} layers recomputed", number=number)
            if kind is Recompute.LAYERS
            else said("recompute {value}", value=kind.value)
        )
        yield words, replace(at, recompute=kind, recomputed_layers=number)
