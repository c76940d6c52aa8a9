"""Why a plan is as it is, and what to mind about it, in sentences."""

from __future__ import annotations

from dataclasses import replace

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.planning.family.counts import parameters
from stepscope.planning.family.shape import ModelShape
from stepscope.planning.layout import Recompute, Schedule, uneven
from stepscope.planning.machine.platform import Platform
from stepscope.planning.memory.states import per_parameter, state_parts
from stepscope.planning.result import JudgedPlan
from stepscope.planning.stages import stages_of


def reasons(shape: ModelShape, plan: JudgedPlan, platform: Platform) -> tuple[str, ...]:
    """What speaks for the plan's choices, with figures."""
    layout = plan.layout
    each = per_parameter(layout)
    state = parameters(shape).total * (each.weights + each.gradients + each.optimizer)
    lines: list[str] = [
        said(
            "weights, gradients and optimizer state are {state} in all; a device has {usable_bytes}",
            state=quantity(state, "bytes"),
            usable_bytes=quantity(plan.memory.usable_bytes, "bytes"),
        )
    ]
    if layout.tp > 1:
        where = (
            said("stays within a server")
            if layout.tp <= platform.per_server
            else said("crosses servers, which is slow")
        )
        share = plan.time_ns.get("tensor parallel", 0) / plan.step_ns
        lines.append(
            said(
                "tensor parallelism of {tp} {where}: its collectives take {share} of the step",
                tp=layout.tp,
                where=where,
                share=percent(share),
            )
        )
    if layout.pp > 1:
        waits = plan.time_ns.get("bubble", 0) / plan.step_ns
        lines.append(
            said(
                "{pp} pipeline stages with {micro_batches} micro-batches leave {waits} as bubble",
                pp=layout.pp,
                micro_batches=layout.micro_batches,
                waits=percent(waits),
            )
        )
    elif state / max(1, layout.tp) <= plan.memory.usable_bytes or layout.zero >= 1:
        lines.append(said("no pipeline is needed: the state fits without stages"))
    if layout.zero >= 1 and layout.dp * layout.cp > 1:
        what = {
            1: said("optimizer state"),
            2: said("optimizer state and gradients"),
            3: said("weights, gradients and optimizer state"),
        }
        lines.append(
            said(
                "{what} sharded over {sharded_over} replicas", what=what[layout.zero], sharded_over=layout.sharded_over
            )
        )
    lines.append(_recomputation(shape, plan))
    exposed = plan.time_ns.get("data parallel", 0)
    if layout.dp * layout.cp > 1:
        lines.append(
            said(
                "replicas cost {exposed} of the step ({exposed2})",
                exposed=duration(exposed),
                exposed2=percent(exposed / plan.step_ns),
            )
        )
    return tuple(lines)


def _recomputation(shape: ModelShape, plan: JudgedPlan) -> str:
    layout = plan.layout
    kept = quantity(plan.memory.parts.get("activations", 0), "bytes")
    taken = percent(plan.time_ns.get("recomputation", 0) / plan.step_ns)
    if layout.recompute is Recompute.NONE:
        return said("nothing is recomputed: activations take {kept}", kept=kept)
    if layout.recompute is Recompute.LAYERS:
        return said(
            "{recomputed_layers} of {layers} layers are recomputed: activations take {kept}, recomputing "
            "{taken} of the step",
            recomputed_layers=layout.recomputed_layers,
            layers=shape.layers,
            kept=kept,
            taken=taken,
        )
    words = {
        Recompute.FULL: said("all layers are recomputed"),
        Recompute.SELECTIVE: said("attention's scores are recomputed"),
        Recompute.OPERATORS: said("all but chosen operators are recomputed"),
        Recompute.EXPERTS: said("norms and whole mixtures of experts are recomputed"),
        Recompute.MODULES: said("norms, activations and latent projections are recomputed")
        if shape.latent
        else said("norms and activations are recomputed"),
    }
    return said(
        "{words}: activations take {kept}, recomputing {taken} of the step",
        words=words[layout.recompute],
        kept=kept,
        taken=taken,
    )


def notes(shape: ModelShape, plan: JudgedPlan, platform: Platform) -> tuple[str, ...]:
    """What to mind: that it does not fit or hardly, what divides unevenly, what is out of the ordinary."""
    layout, memory = plan.layout, plan.memory
    lines: list[str] = []
    need, has = quantity(memory.device_bytes, "bytes"), quantity(memory.usable_bytes, "bytes")
    if not memory.fits:
        lines.append(said("does not fit: {need} of the {has} that can be used", need=need, has=has))
    elif memory.tight:
        lines.append(said("tight: {need} of the {has} that can be used; fragmentation may decide", need=need, has=has))
    lines += uneven(layout, shape.layers, shape.heads)
    if layout.precision == "fp8":
        lines.append(said("multiplies in 8 bits: compare its loss with that in 16 bits before a long run"))
    if layout.tp > platform.per_server:
        lines.append(
            said(
                "tensor parallelism across servers: more than {per_server} devices share no fast link",
                per_server=platform.per_server,
            )
        )
    if layout.pp > 1 and layout.micro_batches < layout.pp:
        lines.append(
            said(
                "fewer micro-batches ({micro_batches}) than pipeline stages ({pp})",
                micro_batches=layout.micro_batches,
                pp=layout.pp,
            )
        )
    if layout.schedule is Schedule.INTERLEAVED and layout.micro_batches % layout.pp:
        lines.append(said("an interleaved schedule needs a multiple of the stages as micro-batches"))
    if layout.offload != "none":
        what = said("optimizer state") if layout.offload == "optimizer" else said("weights and optimizer state")
        per_server = min(platform.per_server, layout.devices) * _on_host(shape, plan)
        lines.append(
            said(
                "{what} on the host: {per_server} of each server's memory",
                what=what,
                per_server=quantity(round(per_server), "bytes"),
            )
        )
    share = plan.time_ns.get("dispatch", 0) / plan.step_ns
    if share > 0.05:
        lines.append(said("the host issues kernels too slowly: {share} of the step waits for it", share=percent(share)))
    return tuple(lines)


def _on_host(shape: ModelShape, plan: JudgedPlan) -> float:
    """Bytes that a device of the fullest stage keeps in the host's memory."""
    stage = stages_of(shape, plan.layout)[plan.memory.stage]
    whole, here = (state_parts(shape, one, stage) for one in (replace(plan.layout, offload="none"), plan.layout))
    return sum(whole.values()) - sum(here.values())
