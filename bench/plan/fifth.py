"""The fifth set of published configurations, from many places: written down before any of them was judged."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parent / "fifth" / "collected.csv"
_SOURCES: Final = {
    "internevo": "InternLM/InternEvo, doc/en/train_performance.md @3a665e88",
    "fsdp-blog": "pytorch/pytorch.github.io, _posts/2024-03-13-maximizing-training.md @2ad10059",
    "fms-fsdp": "foundation-model-stack/fms-fsdp, README.md @0d319983",
    "torchtitan": "pytorch/torchtitan, benchmarks/llama3-8b_h200_202506_trainy-whitefiber.md @1af29373",
    "automodel": "NVIDIA-NeMo/Automodel, docs/performance-summary.md @01926a5c and examples/benchmark/configs",
    "nemo": "NVIDIA NeMo 24.12, performance summary, fine-tuning",
    "nemo-long": "NVIDIA/NeMo, docs/source/performance/performance_long_sequence.md (25.04)",
    "modelzoo": "yanring/Megatron-MoE-ModelZoo, best_practice/Qwen3/readme.md @c1ad0b5c",
    "flagperf": "FlagOpen/FlagPerf, training/nvidia/llama2_7b-megatron-deepspeed/README.md @0f139fc9",
    "tinyllama": "jzhang38/TinyLlama, README.md @026587c0",
    "torchtune": "pytorch/torchtune, README.md @0031bfb0",
    "pax": "NVIDIA/JAX-Toolbox, rosetta/rosetta/projects/pax/README.md @08b08d19",
    "mindformers": "mindspore-ai/docs, docs/mindformers (r1.3), and configs/llama2 of mindspore-lab/mindformers",
    "gpt2-blog": "debtirthasaha.github.io/blog/2026/gpt2-124m",
    "gpt-simple": "lb-off.github.io/gpt-simple/performance",
    "nanogpt": "karpathy/nanoGPT, issue 182",
    "maxtext": "mahdi-shafiei/tpu-recipes, training/trillium/Llama2-70B-MaxText/README.md",
}
#: Layers, width, heads, those of keys and values, MLP and vocabulary of models that no preset has, or not like this.
_MODELS: Final[dict[str, tuple[int | None, ...]]] = {
    "InternLM 7B": (32, 4096, 32, 32, 11008, 103168), "InternLM 20B": (60, 5120, 40, 40, 13824, 103168),
    "Llama 2 7B": (32, 4096, 32, 32, 11008, 32000), "Llama 2 13B": (40, 5120, 40, 40, 13824, 32000),
    "Llama 2 70B": (80, 8192, 64, 8, 28672, 32000), "CodeLlama 34B": (48, 8192, 64, 8, 22016, 32000),
    "Llama 3.1 8B": (32, 4096, 32, 8, 14336, 128256), "TinyLlama 1.1B": (22, 2048, 32, 4, 5632, 32000),
    "GPT-Simple 2.8B": (34, 2560, 20, 20, None, 50257), "GPT 126M": (12, 768, 12, 12, 3072, 50304),
    "GPT 5B": (24, 4096, 32, 32, 16384, 50304), "GPT-3 175B": (96, 12288, 96, 96, 49152, 50257),
}  # fmt: skip
_NUMBERS: Final = (
    "devices", "tp", "pp", "cp", "dp", "ep", "vpp", "shards", "zero", "micro_batch", "global_batch", "seq",
)  # fmt: skip
_RATES: Final = {"tokens_per_s_per_device": "tokens_per_s_per_device", "tflops": "tflops_per_device",
                 "step_s": "step_s", "memory": "memory_gib"}  # fmt: skip


def fifth_set() -> list[dict[str, Any]]:
    """The rows, in the first set's form."""
    return list(_rows())


def _rows() -> Iterator[dict[str, Any]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        for at, row in enumerate(csv.DictReader(file)):
            found = {
                "id": f"r{at:03}", "source": _SOURCES[row["source"]], "series": row["series"], "model": row["model"],
                "device": row["device"], "precision": row["precision"], "framework": row["framework"],
                **_shape(row["model"]), **{name: int(row[name]) for name in _NUMBERS if row[name]},
                **{ours: float(row[theirs]) for theirs, ours in _RATES.items() if row[theirs]},
                **_choices(row["choices"]),
            }  # fmt: skip
            if row["recompute"]:
                found["recompute"] = row["recompute"]
            if row["network_gbit"]:
                found["network_gb_s"] = float(row["network_gbit"]) / 8 * 0.85
            if row["memory"] and row["source"] in ("internevo", "flagperf"):
                found["memory_of"] = "device"
            yield found


def _shape(model: str) -> dict[str, Any]:
    if model not in _MODELS:
        return {}
    layers, hidden, heads, kv_heads, ffn, vocab = _MODELS[model]
    sizes = {"layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "ffn": ffn, "vocab": vocab}
    if model.startswith("GPT") and "Simple" not in model:
        return {**sizes, "family": "gpt", "dropout": False}
    return {**sizes, "family": "llama", "tied": "Simple" in model}


def _choices(text: str) -> dict[str, Any]:
    """Choices of a layout that a row states, as `name=value`."""
    said = {"yes": True, "no": False}
    pairs = (one.split("=") for one in text.split())
    return {name: said.get(value, int(value) if value.isdigit() else value) for name, value in pairs}
