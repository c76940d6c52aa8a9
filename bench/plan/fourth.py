"""The fourth set of published configurations, all of NPUs: written down before any of them was judged."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parent / "fourth" / "mindspeed.csv"
#: Which server the tables name; which of its chips it has they do not say, so it is what plans take it for.
_DEVICE: Final = "Atlas 900 A2"
_TABLES: Final = {
    "a": "README.md of ModelLink (aeeeeeep/ModelLink @01921b68)",
    "b": "README.md of MindSpeed-LLM (Ascend/MindSpeed-LLM @01546f7a)",
}
_SCRIPTS: Final = {"m": "aeeeeeep/ModelLink", "h": "zzhx1/Hetaceso-ModelLink"}
_SIZES: Final = (
    "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "devices", "tp", "pp", "cp", "vpp",
    "micro_batch", "global_batch", "seq", "zero",
)  # fmt: skip
#: Every expert is as wide as the MLP that it stands for, and lies on all ranks, split by tensor parallelism.
_EXPERTS: Final = {"experts": 8, "active_experts": 2, "expert_ffn": 14336}


def fourth_set() -> list[dict[str, Any]]:
    """The rows, in the first set's form."""
    return list(_rows())


def _rows() -> Iterator[dict[str, Any]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        for at, row in enumerate(csv.DictReader(file)):
            repository, path = row["script"].split(":")
            gpt = row["model"].startswith(("GPT", "Bloom"))
            yield {
                "id": f"q{at:03}", "source": f"{_TABLES[row['table']]}; examples/{path} of {_SCRIPTS[repository]}",
                "series": f"{_DEVICE}, {row['family']}", "model": f"{row['model']} ({row['code']})",
                **{name: int(row[name]) for name in _SIZES}, "tied": row["tied"] == "yes", "device": _DEVICE,
                "family": "gpt" if gpt else "llama", "dropout": False,
                **(_EXPERTS if row["model"].startswith("Mixtral") else {}),
                "precision": row["precision"], "attention": row["attention"], "recompute": row["recompute"],
                "sequence_parallel": int(row["tp"]) > 1, "framework": "megatron", "tp_overlap": row["mc2"] == "yes",
                "compiled": row["fused"] == "yes", "overlap": row["overlap"] == "yes",
                "tokens_per_s_per_device": float(row["tokens_per_s_per_device"]),
            }  # fmt: skip
