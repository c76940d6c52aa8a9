"""Plans as JSON, schema `stepscope.plan/1`."""

from __future__ import annotations

from typing import Any, Final

from stepscope.planning.expected import memory_range, step_range
from stepscope.planning.family.counts import parameters
from stepscope.planning.family.shape import ModelShape
from stepscope.planning.planned import Planned
from stepscope.planning.result import JudgedPlan

SCHEMA: Final = "stepscope.plan/1"


def document(planned: Planned) -> dict[str, Any]:
    """The whole answer."""
    shape, platform = planned.shape, planned.platform
    counts = parameters(shape)
    return {
        "schema": SCHEMA,
        "model": {
            "name": shape.name,
            "parameters": counts.total,
            "active_parameters": counts.active,
            **{name: getattr(shape, name) for name in _FIGURES},
            "assumed": list(shape.assumed),
        },
        "device": {
            "name": platform.name,
            "memory_bytes": platform.memory_bytes,
            "usable_bytes": planned.plans[0].memory.usable_bytes if planned.plans else None,
            "per_server": platform.per_server,
            "source": platform.source,
            "calibrated": list(platform.taken),
        },
        "devices": planned.request.devices,
        "assumed": list(planned.request.assumed),
        "considered": planned.considered,
        "plans": [plan_document(plan, shape) for plan in planned.plans],
        "neighbours": [
            {
                "change": one.what,
                "times": round(one.times, 4),
                "step_ns": one.plan.step_ns,
                "memory_bytes": one.plan.memory.allocated_bytes,
                "fits": one.plan.memory.fits,
            }
            for one in planned.neighbours
        ],
        "remedies": list(planned.remedies),
        "remarks": list(planned.remarks),
        "settings": dict(planned.settings),
    }


_FIGURES: Final = (
    "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "gated", "tied", "experts", "active_experts",
    "expert_ffn",
)  # fmt: skip


def plan_document(plan: JudgedPlan, shape: ModelShape) -> dict[str, Any]:
    """One plan."""
    layout, memory = plan.layout, plan.memory
    return {
        "tp": layout.tp,
        "pp": layout.pp,
        "dp": layout.dp,
        "cp": layout.cp,
        "ep": layout.ep,
        "expert_tp": layout.expert_split,
        "virtual_stages": layout.virtual_stages,
        "schedule": layout.schedule.value,
        "micro_batch": layout.micro_batch,
        "micro_batches": layout.micro_batches,
        "global_batch": layout.global_batch,
        "seq": layout.seq,
        "zero": layout.zero,
        "sequence_parallel": layout.sequence_parallel,
        "recompute": layout.recompute.value,
        "recomputed_layers": layout.recomputed_layers,
        "precision": layout.precision,
        "attention": layout.attention,
        "offload": layout.offload,
        "optimizer": layout.optimizer,
        "framework": layout.framework.value,
        "compiled": layout.compiled,
        "devices": layout.devices,
        "memory_bytes": memory.allocated_bytes,
        "device_memory_bytes": memory.device_bytes,
        "memory_range_bytes": list(memory_range(plan)),
        "usable_bytes": memory.usable_bytes,
        "step_ns": plan.step_ns,
        "step_range_ns": list(step_range(plan, shape)),
        "tokens_per_second": round(plan.tokens_per_second, 3),
        "tokens_per_second_per_device": round(plan.tokens_per_second / plan.devices, 3),
        "tflops_per_device": round(plan.flops_per_device / 1e12, 3),
        "hardware_tflops_per_device": round(plan.hardware_flops_per_device / 1e12, 3),
        "mfu": round(plan.mfu, 5),
        "bubble": round(plan.time_ns.get("bubble", 0) / plan.step_ns, 5),
        "fits": memory.fits,
        "tight": memory.tight,
        "parts": {
            "memory_bytes": dict(memory.parts),
            "outside_bytes": dict(memory.outside),
            "step_ns": dict(plan.time_ns),
        },
        "stages": [{"forward_ns": one, "backward_ns": two} for one, two in plan.stages_ns],
        "fullest_stage": memory.stage,
        "reasons": list(plan.reasons),
        "notes": list(plan.notes),
    }
