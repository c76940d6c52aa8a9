"""Let cuDNN choose its algorithms by measuring them."""

from __future__ import annotations

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    if seen.device != "cuda":
        return said("cuDNN needs a GPU")
    return "" if any(one.get("convolutions") for one in seen.models) else said("the model has no convolutions")


def _set() -> None:
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = False


REMEDY = OutsideRemedy(
    name="cudnn-benchmark",
    title="Let cuDNN choose its algorithms by measuring them",
    rules=("KRN006", "KRN015", "KRN017", "KRN004", "KRN001"),
    numbers="rounding",
    changes="the order in which convolutions add",
    fits=_fits,
    first_step=_set,
    write=lambda _: ("torch.backends.cudnn.benchmark = True",),
)
