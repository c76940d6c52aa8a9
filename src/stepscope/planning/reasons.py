"""Why a plan is as it is, and what to mind about it, in sentences."""

from __future__ import annotations

from dataclasses import replace

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
    said = [
        f"weights, gradients and optimizer state are {quantity(state, 'bytes')} in all; a device has "
        f"{quantity(plan.memory.usable_bytes, 'bytes')}"
    ]
    if layout.tp > 1:
        where = "stays within a server" if layout.tp <= platform.per_server else "crosses servers, which is slow"
        share = plan.time_ns.get("tensor parallel", 0) / plan.step_ns
        said.append(f"tensor parallelism of {layout.tp} {where}: its collectives take {percent(share)} of the step")
    if layout.pp > 1:
        waits = plan.time_ns.get("bubble", 0) / plan.step_ns
        said.append(
            f"{layout.pp} pipeline stages with {layout.micro_batches} micro-batches leave {percent(waits)} as bubble"
        )
    elif state / max(1, layout.tp) <= plan.memory.usable_bytes or layout.zero >= 1:
        said.append("no pipeline is needed: the state fits without stages")
    if layout.zero >= 1 and layout.dp * layout.cp > 1:
        what = {1: "optimizer state", 2: "optimizer state and gradients", 3: "weights, gradients and optimizer state"}
        said.append(f"{what[layout.zero]} sharded over {layout.sharded_over} replicas")
    said.append(_recomputation(shape, plan))
    exposed = plan.time_ns.get("data parallel", 0)
    if layout.dp * layout.cp > 1:
        said.append(f"replicas cost {duration(exposed)} of the step ({percent(exposed / plan.step_ns)})")
    return tuple(said)


def _recomputation(shape: ModelShape, plan: JudgedPlan) -> str:
    layout = plan.layout
    kept = quantity(plan.memory.parts.get("activations", 0), "bytes")
    taken = percent(plan.time_ns.get("recomputation", 0) / plan.step_ns)
    if layout.recompute is Recompute.NONE:
        return f"nothing is recomputed: activations take {kept}"
    if layout.recompute is Recompute.LAYERS:
        return (
            f"{layout.recomputed_layers} of {shape.layers} layers are recomputed: activations take {kept}, "
            f"recomputing {taken} of the step"
        )
    words = {
        Recompute.FULL: "all layers are recomputed",
        Recompute.SELECTIVE: "attention's scores are recomputed",
        Recompute.OPERATORS: "all but chosen operators are recomputed",
        Recompute.MODULES: f"norms{', activations and latent projections' if shape.latent else ' and activations'} "
        "are recomputed",
    }
    return f"{words[layout.recompute]}: activations take {kept}, recomputing {taken} of the step"


def notes(shape: ModelShape, plan: JudgedPlan, platform: Platform) -> tuple[str, ...]:
    """What to mind: that it does not fit or hardly, what divides unevenly, what is out of the ordinary."""
    layout, memory = plan.layout, plan.memory
    said = []
    need, has = quantity(memory.device_bytes, "bytes"), quantity(memory.usable_bytes, "bytes")
    if not memory.fits:
        said.append(f"does not fit: {need} of the {has} that can be used")
    elif memory.tight:
        said.append(f"tight: {need} of the {has} that can be used; fragmentation may decide")
    said += uneven(layout, shape.layers, shape.heads)
    if layout.precision == "fp8":
        said.append("multiplies in 8 bits: compare its loss with that in 16 bits before a long run")
    if layout.tp > platform.per_server:
        said.append(f"tensor parallelism across servers: more than {platform.per_server} devices share no fast link")
    if layout.pp > 1 and layout.micro_batches < layout.pp:
        said.append(f"fewer micro-batches ({layout.micro_batches}) than pipeline stages ({layout.pp})")
    if layout.schedule is Schedule.INTERLEAVED and layout.micro_batches % layout.pp:
        said.append("an interleaved schedule needs a multiple of the stages as micro-batches")
    if layout.offload != "none":
        what = "optimizer state" if layout.offload == "optimizer" else "weights and optimizer state"
        per_server = min(platform.per_server, layout.devices) * _on_host(shape, plan)
        said.append(f"{what} on the host: {quantity(round(per_server), 'bytes')} of each server's memory")
    share = plan.time_ns.get("dispatch", 0) / plan.step_ns
    if share > 0.05:
        said.append(f"the host issues kernels too slowly: {percent(share)} of the step waits for it")
    return tuple(said)


def _on_host(shape: ModelShape, plan: JudgedPlan) -> float:
    """Bytes that a device of the fullest stage keeps in the host's memory."""
    stage = stages_of(shape, plan.layout)[plan.memory.stage]
    whole, here = (state_parts(shape, one, stage) for one in (replace(plan.layout, offload="none"), plan.layout))
    return sum(whole.values()) - sum(here.values())
