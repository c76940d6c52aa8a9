"""The second set of published configurations, which is kept beside this file as tables."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "second"
#: Layers, width and heads of llm-foundry's models (its scripts/train/yamls).
_MPT: Final = {
    "125m": (12, 768, 12), "350m": (24, 1024, 16), "760m": (24, 1536, 12), "1b": (24, 2048, 16), "3b": (32, 2560, 20),
    "7b": (32, 4096, 32), "13b": (40, 5120, 40), "30b": (48, 7168, 56), "70b": (80, 8192, 64),
}  # fmt: skip
_FOUNDRY: Final = "MosaicML llm-foundry, scripts/train/benchmarking/README.md @061f2c7c"
_BIG: Final = "BigScience, train/tr11-176B-ml/chronicles-prequel.md @053adafe"
_BRIDGE: Final = "NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary.md @00b7660b (25.11)"
#: Four Omni-Path links of 100 Gb/s for eight devices (the model card of BLOOM), of which collectives reach 0.85.
_JEAN_ZAY_GB_S: Final = 4 * 12.5 * 0.85 / 8


def second_set() -> list[dict[str, Any]]:
    """The rows, in the first set's form."""
    return [*_foundry(), *_bigscience(), *_bridge()]


def _table(name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        yield from enumerate(csv.DictReader(file))


def _numbers(row: dict[str, Any], *names: str) -> dict[str, int]:
    return {name: int(row[name]) for name in names}


def _foundry() -> Iterator[dict[str, Any]]:
    for at, row in _table("llm-foundry.csv"):
        layers, hidden, heads = _MPT[row["model"]]
        yield {
            "id": f"f{at:03}", "source": _FOUNDRY, "series": f"llm-foundry {row['device']} {row['precision']}",
            "model": f"mpt-{row['model']}", "layers": layers, "hidden": hidden, "heads": heads, "vocab": 50368,
            "device": row["device"], "precision": row["precision"], "recompute": row["recompute"], "zero": 3,
            "framework": "llm-foundry", **_numbers(row, "devices", "micro_batch", "global_batch", "seq"),
            "tokens_per_s_per_device": float(row["tokens_per_s_per_device"]),
        }  # fmt: skip


def _bigscience() -> Iterator[dict[str, Any]]:
    for at, row in _table("bigscience.csv"):
        sizes = _numbers(row, "layers", "hidden", "heads", "tp", "pp", "dp", "micro_batch", "global_batch", "zero")
        measured = row["memory"]
        yield {
            "id": f"b{at:03}", "source": _BIG, "series": f"BigScience {row['optimizer']}",
            "model": f"{row['layers']} x {row['hidden']}, {row['heads']} heads", "vocab": 250880, "seq": 2048, **sizes,
            "devices": sizes["tp"] * sizes["pp"] * sizes["dp"], "device": "A100-80GB", "recompute": "full",
            "precision": row["optimizer"], "framework": "Megatron-DeepSpeed", "network_gb_s": _JEAN_ZAY_GB_S,
            "memory_gib": float(measured) if measured not in ("", "OOM") else None, "memory_of": "device",
            "out_of_memory": measured == "OOM", "step_s": float(row["step_s"]) if row["step_s"] else None,
        }  # fmt: skip


def _bridge() -> Iterator[dict[str, Any]]:
    for at, row in _table("megatron-bridge.csv"):
        sizes = _numbers(row, "devices", "global_batch", "micro_batch", "seq", "zero", "tp", "pp", "cp", "vpp", "ep")
        yield {
            "id": f"n{at:03}", "source": _BRIDGE, "series": f"Megatron-Bridge {row['device']}", **sizes,
            "model": row["model"], "device": row["device"], "precision": row["precision"],
            "framework": "Megatron-Bridge", "tokens_per_s_per_device": float(row["tokens_per_s_per_device"]),
        }  # fmt: skip
