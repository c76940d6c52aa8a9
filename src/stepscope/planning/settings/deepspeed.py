"""A DeepSpeed configuration."""

from __future__ import annotations

import json
from typing import Any

from stepscope.planning.layout import Layout, Recompute


def document(layout: Layout) -> str:
    """The JSON that a plan decides."""
    zero: dict[str, Any] = {"stage": layout.zero, "overlap_comm": True, "contiguous_gradients": True}
    if layout.offload != "none":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if layout.offload == "weights":
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    found: dict[str, Any] = {
        "train_batch_size": layout.global_batch,
        "train_micro_batch_size_per_gpu": layout.micro_batch,
        "gradient_accumulation_steps": layout.micro_batches,
        "zero_optimization": zero,
        "fp16" if layout.precision == "fp16" else "bf16": {"enabled": layout.precision != "fp32"},
    }
    if layout.tp > 1:
        found["tensor_parallel"] = {"autotp_size": layout.tp}
    if layout.recompute is not Recompute.NONE:
        found["activation_checkpointing"] = {"partition_activations": layout.tp > 1}
    return json.dumps(found, indent=2)
