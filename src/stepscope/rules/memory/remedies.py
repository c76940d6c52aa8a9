"""What several rules about memory advise."""

from __future__ import annotations

from typing import Final

from stepscope.rules.finding import Action
from stepscope.signals import Signals
from stepscope.signals.snapshots.allocator import expandable, variable
from stepscope.signals.snapshots.split_size import split_size_mb

CHECKPOINT: Final = Action(
    "Recompute the largest blocks in the backward pass instead of keeping their activations",
    before="x = block(x)",
    after="x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
    page="activation-checkpointing",
)
FUSED: Final = Action(
    "Never write the score matrices: fused attention, if no one reads the attention weights",
    before="weights = softmax(q @ k.transpose(-2, -1) / d**0.5, dim=-1)\nout = weights @ v",
    after="out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)  # or attn_mask=mask",
    page="flash-attention",
)
HALF: Final = Action(
    "Give scaled_dot_product_attention inputs that a fused kernel takes: the recording shows its separate GEMMs and "
    "softmax. Half precision, no mask that needs a gradient, and heads of at most 256 numbers do",
    after="with torch.autocast(device_type, dtype=torch.bfloat16):\n    out = model(batch)",
    page="flash-attention",
)
LESS: Final = Action(
    "Fewer samples at a time, with gradients accumulated; or autocast to bfloat16, which halves most of it",
    before="model(batch)",
    after="for part in batch.chunk(4):\n    model(part)",
    page="batch-size",
)
SHARD: Final = Action(
    "Hold less of what stays: shard over ranks, keep part on the host, or use a smaller data type",
    before="model = Model().to(device)",
    after="fully_shard(model)   # several ranks; on one: bfloat16 or quantised weights, states of 8 bits",
    page="fsdp-zero",
)
DETACH: Final = Action(
    "Keep numbers, not tensors with their graphs",
    before="losses.append(loss)",
    after="losses.append(loss.detach())  # or loss.item(), once in many steps",
    page="memory-leaks",
)
DROP: Final = Action(
    "Let go of the previous result before the next iteration",
    before="for batch in batches:\n    output = model(batch)",
    after="for batch in batches:\n    output = model(batch)\n    ...\n    del output   # or keep output.detach() only",
    page="memory-leaks",
)
NO_GRAD: Final = Action(
    "Run without gradients where no backward pass follows: no activations are kept then",
    before="output = model(batch)",
    after="with torch.no_grad():   # or torch.inference_mode()\n    output = model(batch)",
    page="memory-leaks",
)
PAD: Final = Action("Pad inputs to a few sizes, and begin with the largest", page="memory-fragmentation")


def layout_actions(s: Signals) -> tuple[Action, ...]:
    """Settings against fragmented segments, as the platform permits."""
    name = s.maybe(variable) or "PYTORCH_CUDA_ALLOC_CONF"
    grow = Action(
        "Let segments grow, so that their free blocks can be joined",
        before=f"{name} unset",
        after=f"export {name}=expandable_segments:True",
        page="memory-fragmentation",
    )
    state, split = s.maybe(expandable), s.maybe(split_size_mb)
    if state == "on":
        return (PAD,)
    apart = () if split is None else (
        Action(
            "Keep large blocks whole, since segments can't grow on this platform" if state == "unsupported" else
            "Keep large blocks whole, where segments can't grow",
            before=f"{name} unset",
            after=f"export {name}=max_split_size_mb:{split}",
            page="memory-fragmentation",
        ),
    )  # fmt: skip
    return (*apart, PAD) if state == "unsupported" else (grow, *apart, PAD)
