"""From a published configuration to what the planner is asked, and to what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from stepscope.planning import spelled
from stepscope.planning.family.counts import flops_per_token
from stepscope.planning.family.reading import shape_of
from stepscope.planning.family.shape import ModelShape
from stepscope.planning.judge import judge
from stepscope.planning.layout import Framework
from stepscope.planning.machine.platform import Platform
from stepscope.planning.machine.spelling import platform
from stepscope.planning.request import completed, request
from stepscope.planning.result import JudgedPlan


@dataclass(frozen=True)
class Row:
    """A published configuration and what the planner says of it."""

    id: str
    source: str
    model: str
    row: dict[str, Any]
    shape: ModelShape
    platform: Platform
    plan: JudgedPlan
    step_s: float | None
    memory_gib: float | None

    @property
    def memory_error(self) -> float | None:
        """By how much the predicted memory is off, as a share of the published."""
        if self.memory_gib is None:
            return None
        return self.memory_bytes / 2**30 / self.memory_gib - 1

    @property
    def memory_bytes(self) -> int:
        """What is predicted of what the source measured: the allocator's memory, or the device's."""
        memory = self.plan.memory
        return memory.device_bytes if self.row.get("memory_of") == "device" else memory.allocated_bytes

    @property
    def fits_wrongly(self) -> bool:
        """Whether it ran out of memory, and is predicted to fit."""
        return bool(self.row.get("out_of_memory")) and self.plan.memory.fits

    @property
    def step_error(self) -> float | None:
        """By how much the predicted step is off, as a share of the published."""
        return None if self.step_s is None else self.plan.step_ns / 1e9 / self.step_s - 1


def asked(row: dict[str, Any]) -> Row:
    """The row, judged; what its source does not state is what its authors would choose: the fastest that fits."""
    shape, where = shape_of(document(row), row["model"]), machine(row)
    options = list(candidates(row, shape))
    judged = [_judged(shape, where, row["devices"], one) for one in options]
    best = min(judged, key=lambda plan: (not plan.memory.fits, plan.step_ns))
    return Row(
        row["id"], row["source"], row["model"], row, shape, where, best, measured(row, shape), row.get("memory_gib")
    )


def _judged(shape: ModelShape, where: Platform, devices: int, given: dict[str, Any]) -> JudgedPlan:
    return judge(shape, completed(request(shape, where, devices, given)), where)


def machine(row: dict[str, Any]) -> Platform:
    """The row's device, with what its source states of the network."""
    one = platform(row["device"])
    given: dict[str, Any] = {"network": row["network_gb_s"] * 1e9} if row.get("network_gb_s") else {}
    return replace(one, **given, per_server=row.get("per_server", one.per_server))


def document(row: dict[str, Any]) -> dict[str, Any]:
    """The row's model as a file of one's own."""
    keys = (
        "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "params_b", "tied", "family", "dropout",
        "experts", "active_experts", "expert_ffn",
    )  # fmt: skip
    return {"name": row["model"], **{key: row[key] for key in keys if row.get(key) is not None}}


def fixed(row: dict[str, Any]) -> dict[str, Any]:
    """What the row states, as options of `stepscope plan`; nothing else is set."""
    given = {name: row[key] for name, key in _STATED.items() if row.get(key) is not None}
    tp, pp, cp = row.get("tp") or 1, row.get("pp") or 1, row.get("cp") or 1
    given |= {"tp": tp, "pp": pp, "cp": cp, "dp": row.get("dp") or row["devices"] // (tp * pp * cp)}
    note = row.get("note") or ""
    if "eager" in note or "performance.md" in row["source"]:
        given["compiled"] = False
    if "AsyncTP" in note:
        given["tp_overlap"] = True
    if "DualPipe" in note:
        given |= {"schedule": "dualpipe", "ep_overlap": True, "grouped_dispatch": True}
    if "PaLM" in row["source"]:
        # Section 4 of the paper: weights fully sharded over the 256 replicas of a pod; XLA compiles.
        given |= {"framework": "fsdp", "zero": 3, "shards": 256, "compiled": True}
    return given


#: Fields of a layout, and the rows' names of them.
_STATED: Final = {
    "ep": "ep", "virtual_stages": "vpp", "micro_batch": "micro_batch", "global_batch": "global_batch", "seq": "seq",
    "zero": "zero", "recompute": "recompute", "precision": "precision", "framework": "framework",
    "sequence_parallel": "sequence_parallel", "attention": "attention", "compiled": "compiled", "overlap": "overlap",
    "master_weights": "master_weights", "reduce_each": "reduce_each", "tp_overlap": "tp_overlap",
    "shards": "shards", "optimizer": "optimizer", "fused_loss": "fused_loss", "ep_overlap": "ep_overlap",
    "narrow_reduction": "narrow_reduction", "expert_tp": "expert_tp", "grouped_dispatch": "grouped_dispatch",
}  # fmt: skip


def candidates(row: dict[str, Any], shape: ModelShape) -> Iterator[dict[str, Any]]:
    """Choices that agree with what is stated."""
    base = fixed(row)
    framework = spelled.framework(base.get("framework", "megatron"))
    per_replica = base["global_batch"] // base["dp"]
    sizes = [base["micro_batch"]] if "micro_batch" in base else [n for n in (1, 2, 4, 8) if per_replica % n == 0] or [1]
    if framework is Framework.TORCHTITAN and base["pp"] > 1 and "micro_batch" not in base:
        # torchtitan cuts the local batch into as many micro-batches as there are stages unless told otherwise.
        sizes = [max(1, per_replica // base["pp"])]
    virtual = [base.get("virtual_stages", 1)]
    if "virtual_stages" not in base and base["pp"] > 1 and framework is Framework.MEGATRON:
        per_stage = max(1, shape.layers // base["pp"])
        virtual = [
            v for v in range(1, min(per_stage, 12) + 1) if shape.layers % (base["pp"] * v) == 0 or v == per_stage
        ]
    kinds = [base.get("recompute", "none")]
    if "recompute" not in base and "no recomputation" not in (row.get("note") or ""):
        kinds = [
            "none",
            *(["modules"] if framework is Framework.MEGATRON and not _old(row, shape, base) else []),
            *(str(shape.layers // n) for n in (8, 4, 2) if shape.layers >= n),
            "full",
        ]
    for size, chunks, kind in ((s, v, k) for s in sizes for v in virtual for k in kinds):
        yield {**base, "micro_batch": size, "virtual_stages": chunks, "recompute": kind}


def _old(row: dict[str, Any], shape: ModelShape, base: dict[str, Any]) -> bool:
    """Whether it is of the years before there were modules to recompute."""
    asked = request(shape, machine(row), row["devices"], {"micro_batch": 1, **base})
    return bool(asked.fixed.get("attention") == "unfused")


def measured(row: dict[str, Any], shape: ModelShape) -> float | None:
    """Seconds per step that the row states, or that follow from its rate."""
    if row.get("step_s"):
        return float(row["step_s"])
    tokens = row["global_batch"] * row["seq"]
    if row.get("tokens_per_s_per_device"):
        return tokens / (row["devices"] * row["tokens_per_s_per_device"])
    if row.get("tflops_per_device"):
        flops = flops_per_token(shape, row["seq"]) * tokens
        if "hardware" in row.get("flops_kind", ""):
            flops *= 4 / 3
        return flops / row["devices"] / (row["tflops_per_device"] * 1e12)
    return None
