"""Multiply matrices in TF32."""

from __future__ import annotations

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    return "" if seen.device == "cuda" and not seen.hip else said("TF32 needs a GPU of NVIDIA's")


def _set() -> None:
    import torch

    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True


REMEDY = OutsideRemedy(
    name="tf32",
    title="Multiply matrices in TF32",
    rules=("KRN001", "KRN002", "KRN015"),
    numbers="precision",
    changes="matrix multiplications have three digits instead of seven",
    fits=_fits,
    first_step=_set,
    write=lambda _: (
        'torch.set_float32_matmul_precision("high")', "torch.backends.cudnn.allow_tf32 = True",
    ),
)  # fmt: skip
