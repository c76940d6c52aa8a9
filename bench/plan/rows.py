"""From a published configuration to what the planner is asked, and to what was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from stepscope.planning import spelled
from stepscope.planning.family.counts import flops_per_token
from stepscope.planning.family.reading import shape_of
from stepscope.planning.family.shape import ModelShape
from stepscope.planning.judge import judge
from stepscope.planning.layout import Framework, Layout, Recompute, Schedule
from stepscope.planning.machine.platform import Platform
from stepscope.planning.machine.spelling import platform
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
        return self.plan.memory.allocated_bytes / 2**30 / self.memory_gib - 1

    @property
    def step_error(self) -> float | None:
        """By how much the predicted step is off, as a share of the published."""
        return None if self.step_s is None else self.plan.step_ns / 1e9 / self.step_s - 1


def asked(row: dict[str, Any]) -> Row:
    """The row, judged; what its source does not state is what its authors would choose: the fastest that fits."""
    base = fixed(row)
    shape = shape_of(document(row), row["model"])
    where = platform(row["device"])
    options = list(candidates(row, base, shape))
    judged = [judge(shape, one, where) for one in options]
    best = min(judged, key=lambda plan: (not plan.memory.fits, plan.step_ns))
    return Row(
        row["id"], row["source"], row["model"], row, shape, where, best, measured(row, shape), row.get("memory_gib")
    )


def document(row: dict[str, Any]) -> dict[str, Any]:
    """The row's model as a file of one's own."""
    keys = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "params_b")
    found = {key: row[key] for key in keys if row.get(key) is not None}
    return {"name": row["model"], **found, **({"dropout": True} if early(row) else {})}


def early(row: dict[str, Any]) -> bool:
    """Whether it is of 2021 and 2022, before fused attention."""
    return "2021" in row["source"] or "2205.05198" in row["source"]


def fixed(row: dict[str, Any]) -> Layout:
    """What the row and its source state."""
    framework = spelled.framework(row.get("framework") or "fsdp")
    tp, pp, cp = row.get("tp") or 1, row.get("pp") or 1, row.get("cp") or 1
    devices = row["devices"]
    dp = row.get("dp") or devices // (tp * pp * cp)
    precision = spelled.precision(row["precision"])
    newer = framework is Framework.MEGATRON and not early(row)
    kind, layers = spelled.recompute(str(row.get("recompute") or "none"), framework)
    sequence = row.get("sequence_parallel")
    if sequence is None:
        sequence = tp > 1 and not early(row)
    note = row.get("note") or ""
    layout = Layout(
        tp=tp, pp=pp, dp=dp, cp=cp, ep=row.get("ep") or 1, virtual_stages=row.get("vpp") or 1,
        schedule=Schedule.ONE_F_ONE_B, micro_batch=row.get("micro_batch") or 1, global_batch=row["global_batch"],
        seq=row["seq"], zero=row["zero"] if row.get("zero") is not None else (1 if newer else 0),
        sequence_parallel=bool(sequence), recompute=kind, recomputed_layers=layers, precision=precision,
        attention="unfused" if early(row) else "flash3" if newer and "A100" not in row["device"] else "flash",
        framework=framework, compiled="eager" not in note and "performance.md" not in row["source"],
        overlap=not early(row), tp_overlap=(newer and "NVIDIA" in row["source"]) or "AsyncTP" in note,
    )  # fmt: skip
    if "DualPipe" in note:
        layout = replace(layout, schedule=Schedule.DUAL_PIPE, ep_overlap=True)
    return layout


def candidates(row: dict[str, Any], base: Layout, shape: ModelShape):
    """Layouts that agree with what is stated."""
    per_replica = base.global_batch // base.dp
    sizes = [base.micro_batch] if row.get("micro_batch") else [n for n in (1, 2, 4, 8) if per_replica % n == 0] or [1]
    if base.framework is Framework.TORCHTITAN and base.pp > 1 and not row.get("micro_batch"):
        # torchtitan cuts the local batch into as many micro-batches as there are stages unless told otherwise.
        sizes = [max(1, per_replica // base.pp)]
    virtual = [base.virtual_stages]
    if row.get("vpp") is None and base.pp > 1 and base.framework is Framework.MEGATRON:
        per_stage = max(1, shape.layers // base.pp)
        virtual = [v for v in range(1, min(per_stage, 12) + 1) if shape.layers % (base.pp * v) == 0 or v == per_stage]
    kinds = [(base.recompute, shape.layers // 2 if base.recompute is Recompute.LAYERS else 0)]
    if row.get("recompute") is None:
        shares = (8, 4, 2)
        kinds = [(Recompute.NONE, 0), *((Recompute.LAYERS, shape.layers // n) for n in shares), (Recompute.FULL, 0)]
        if "no recomputation" in (row.get("note") or ""):
            kinds = kinds[:1]
    for size, chunks, (kind, layers) in [(s, v, k) for s in sizes for v in virtual for k in kinds]:
        yield replace(base, micro_batch=size, virtual_stages=chunks, recompute=kind, recomputed_layers=layers)


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
