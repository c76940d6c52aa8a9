"""Phases of a step, and the names of ranges that identify them."""

from __future__ import annotations

import re
from typing import Final

#: Phases by what is asked first: an instant belongs to the first one that covers it. `rest` is what none covers.
PHASES: Final = (
    "checkpointing", "optimizer", "data_loading", "postprocessing", "preprocessing", "sampling", "mixed", "prefill",
    "decode", "denoise", "backward", "forward", "rest",
)  # fmt: skip
BACKWARD, CHECKPOINTING, FORWARD, OPTIMIZER, PREPROCESSING, REST = (
    PHASES.index(name)
    for name in ("backward", "checkpointing", "forward", "optimizer", "preprocessing", "rest")
)  # fmt: skip

#: Names of annotations, modules and Python functions that are a phase: of the profilers and libraries of PyTorch,
#: torch_npu, Megatron, transformers, diffusers, vLLM and SGLang, and the plain words that users give NVTX ranges.
_NAMES: Final[dict[str, re.Pattern[str]]] = {
    "checkpointing": re.compile(
        r"torch/utils/checkpoint\.py\(\d+\): recompute_fn$|torch/serialization\.py\(\d+\): save$|^save_checkpoint"
        r"|: save_checkpoint$|^(activation )?recompute\w*$", re.IGNORECASE),
    "optimizer": re.compile(
        r"^Optimizer\.(step|zero_grad)#|torch/optim/\w+\.py\(\d+\): (step|zero_grad)$"
        r"|^(optimi[sz]er|optim|opt)([ _.:-]?(step|update))?$|^zero_grad$|clip_grad", re.IGNORECASE),
    "data_loading": re.compile(
        r"^enumerate\(DataLoader\)#|torch/utils/data/dataloader\.py\(\d+\): __next__$"
        r"|^(data|batch|dataloader|data[ _-]?load(ing|er)?|(get|load|next)[ _-]?(batch|data))$", re.IGNORECASE),
    "postprocessing": re.compile(r": postprocess\w*$|^post[ _-]?process\w*$|: decode_latents$|vae.*\bdecode$",
                                 re.IGNORECASE),
    "preprocessing": re.compile(
        r": preprocess\w*$|^pre[ _-]?process\w*$|image_processing_\w+\.py|: encode_prompt$|^(h2d|host to device)$"
        r"|^(input|batch)[ _-]?(copy|to[ _-]device)$|^copy_batch_to_gpu|^wait_for_batch$"
        r"|^(start_|wait_)?sparse_data_dist\b", re.IGNORECASE),
    "sampling": re.compile(r"\b(sampler|logits_processor)\.py\(\d+\): (forward|sample)$|nn\.Module: Sampler_\d"
                           r"|^sampl(e|er|ing)$|: _?sample$", re.IGNORECASE),
    "denoise": re.compile(r"nn\.Module: (UNet\w*ConditionModel|\w*Transformer2DModel|\w*DiT\w*)_\d|^denois\w*( step)?",
                          re.IGNORECASE),
    "backward": re.compile(r"^(backward|bwd)([ _-]?(pass|step))?$|^loss\.backward$|: run_backward$", re.IGNORECASE),
    "forward": re.compile(r"^(forward|fwd)([ _-]?(pass|step|only))?$", re.IGNORECASE),
}  # fmt: skip
#: Batches of servers: SGLang's `step[DECODE bs=32]`; vLLM's `execute_8192_context_9_generation_37` and
#: `execute_context_1(888)_generation_0(0)`, by the numbers of requests.
_SGLANG: Final = re.compile(r"^step\[(\w+)")
_VLLM: Final = re.compile(r"^execute_(?:\d+_)?context_(\d+)(?:\(\w+\))?(?:_generation_(\d+))?")
#: TorchRec writes `## forward ##`.
_FRAME: Final = re.compile(r"^#+ *| *#+$")


def phase_of(name: str) -> str | None:
    """The phase that a name identifies; None if it identifies none."""
    name = _FRAME.sub("", name)
    if found := _SGLANG.match(name):
        word = found.group(1).upper()
        return {"EXTEND": "prefill", "PREFILL": "prefill", "DECODE": "decode", "MIXED": "mixed"}.get(word)
    if found := _VLLM.match(name):
        prefill, decode = (int(group or 0) for group in found.groups())
        return "mixed" if prefill and decode else "prefill" if prefill else "decode" if decode else None
    return next((phase for phase, pattern in _NAMES.items() if pattern.search(name)), None)
