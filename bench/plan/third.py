"""The third set of published configurations: written down before any of them was judged."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "third"
#: Layers, width, heads and MLP of KempnerForge's models; all have 8 heads of keys and values and Llama 3's vocabulary.
_FORGE: Final = {
    "7b": (32, 4096, 32, 14336), "13b": (40, 5120, 40, 17920), "70b": (80, 8192, 64, 28672),
    "175b": (96, 12288, 96, 39680),
}  # fmt: skip
#: It keeps all state in bf16 and whole gradients in fp32 while it accumulates (175b_360gpu/README.md; checkpoints hold
#: bf16 weights): read from the source after the first judgement.
_ITS_WAY: Final = {"master_weights": False, "reduce_each": False}
_KEMPNER: Final = "KempnerInstitute/KempnerForge, benchmarks/{mfu_scaling,weak_scaling_160gpu,175b_360gpu}"
_BRIDGE: Final = "NVIDIA Megatron-Bridge, docs/performance-summary.md @ea299063 (25.09)"
_FLAG: Final = "FlagOpen/FlagPerf, training/nvidia/{llama3_8B,llama3_70B,llama2_70B}-megatron/README.md"


def third_set() -> list[dict[str, Any]]:
    """The rows, in the first set's form."""
    return [*_forge(), *_bridge(), *_flag()]


def _table(name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        yield from enumerate(csv.DictReader(file))


def _numbers(row: dict[str, Any], *names: str) -> dict[str, int]:
    return {name: int(row[name]) for name in names}


def _forge() -> Iterator[dict[str, Any]]:
    for at, row in _table("kempnerforge.csv"):
        layers, hidden, heads, ffn = _FORGE[row["model"]]
        sizes = _numbers(row, "devices", "tp", "dp", "micro_batch")
        yield {
            "id": f"k{at:03}", "source": _KEMPNER, "series": f"KempnerForge H200, {row['model']}",
            "model": f"llama3-like {row['model']}", "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": 8,
            "ffn": ffn, "vocab": 128256, "device": "H200", "per_server": 4, **sizes, "pp": 1, "seq": 4096,
            "global_batch": sizes["dp"] * sizes["micro_batch"] * int(row["accumulated"]), "zero": 3,
            "recompute": "full", "precision": "bf16", "framework": "torchtitan (FSDP2)",
            "compiled": row["compiled"] == "yes", **_ITS_WAY, "memory_gib": float(row["memory"]),
            "step_s": float(row["step_s"]),
        }  # fmt: skip


def _bridge() -> Iterator[dict[str, Any]]:
    for at, row in _table("megatron-bridge-25.09.csv"):
        sizes = _numbers(row, "devices", "global_batch", "micro_batch", "seq", "zero", "tp", "pp", "cp", "vpp", "ep")
        yield {
            "id": f"o{at:03}", "source": _BRIDGE, "series": f"Megatron-Bridge 25.09 {row['device']}", **sizes,
            "model": row["model"], "device": row["device"], "precision": row["precision"],
            "framework": "Megatron-Bridge", "tokens_per_s_per_device": float(row["tokens_per_s_per_device"]),
        }  # fmt: skip


def _flag() -> Iterator[dict[str, Any]]:
    for at, row in _table("flagperf.csv"):
        yield {
            "id": f"p{at:03}", "source": _FLAG, "series": f"FlagPerf {row['device']}", "model": row["model"],
            "device": row["device"], **_numbers(row, "devices", "tp", "pp", "dp", "global_batch", "seq"),
            "precision": row["precision"], "micro_batch": 1, "vpp": 1, "zero": 1, "recompute": "selective",
            "attention": "flash",
            "framework": "Megatron-LM", "tokens_per_s_per_device": float(row["tokens_per_s_per_device"]),
            "memory_gib": float(row["memory"]), "memory_of": "device",
            "network_gb_s": float(row["network_gbit"]) / 8 * 0.85, "overlap": False,
        }  # fmt: skip
