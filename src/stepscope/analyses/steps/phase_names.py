"""Phases of a step, and the names of ranges that identify them."""

from __future__ import annotations

import re
from typing import Final

from stepscope.model.serving_names import served

#: Phases by what is asked first: an instant belongs to the first one that covers it. `rest` is what none covers.
PHASES: Final = (
    "recomputation", "saving", "optimizer", "data_loading", "postprocessing", "preprocessing", "sampling", "mixed",
    "prefill", "decode", "denoise", "backward", "forward", "rest",
)  # fmt: skip
BACKWARD, FORWARD, OPTIMIZER, PREPROCESSING, RECOMPUTATION, REST = (
    PHASES.index(name)
    for name in ("backward", "forward", "optimizer", "preprocessing", "recomputation", "rest")
)  # fmt: skip

#: Names of annotations, modules and Python functions that are a phase: of the profilers and libraries of PyTorch,
#: torch_npu, MindSpore, Megatron, transformers, diffusers, vLLM and SGLang, and the plain words that users give NVTX
#: ranges.
_NAMES: Final[dict[str, re.Pattern[str]]] = {
    "recomputation": re.compile(
        r"torch/utils/checkpoint\.py\(\d+\): recompute_fn$|^(activation )?recomput\w*$", re.IGNORECASE),
    "saving": re.compile(
        r"torch/serialization\.py\(\d+\): save$|torch/distributed/checkpoint/\w+\.py\(\d+\): (async_)?save$"
        r"|safetensors/torch\.py\(\d+\): save_\w+$|^_?save_(checkpoint|model)|: _?save_(checkpoint|model|pretrained)$"
        r"|^(save|saving)([ _-](checkpoint|model|weights))?$", re.IGNORECASE),
    "optimizer": re.compile(
        r"^Optimizer\.(step|zero_grad)#|torch/optim/\w+\.py\(\d+\): (step|zero_grad)$"
        r"|^(optimi[sz]er|optim|opt)([ _.:-]?(step|update))?$|^zero_grad$|clip_grad"
        r"|^iteration refresh( \d+)?$", re.IGNORECASE),
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
#: TorchRec writes `## forward ##`.
_FRAME: Final = re.compile(r"^#+ *| *#+$")


def phase_of(name: str) -> str | None:
    """The phase that a name identifies; None if it identifies none."""
    name = _FRAME.sub("", name)
    if (batch := served(name)) is not None:
        return None if batch.phase == "unknown" else batch.phase
    return next((phase for phase, pattern in _NAMES.items() if pattern.search(name)), None)
