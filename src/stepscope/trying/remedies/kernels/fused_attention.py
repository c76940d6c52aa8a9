"""Let attention use the fused kernels that the program has turned off."""

from __future__ import annotations

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_NAMES = ("flash", "mem_efficient", "cudnn")


def _fits(seen: Seen) -> str:
    if seen.device == "cpu":
        return said("its kernels are for devices")
    return "" if seen.calls.get("enable_sdp") else said("the program turns no kernel of attention off")


def _start(seen: Seen) -> bool:
    """Keep the program from turning them off."""
    from torch.backends import cuda

    del seen
    for name in _NAMES:
        enable = getattr(cuda, f"enable_{name}_sdp", None)
        if enable is not None:
            enable(True)
            setattr(cuda, f"enable_{name}_sdp", lambda _enabled: None)
    return True


REMEDY = OutsideRemedy(
    name="fused-attention",
    title="Let attention use fused kernels",
    rules=("KRN008", "KRN018", "MEM013"),
    numbers="rounding",
    changes="the last digits of attention",
    fits=_fits,
    start=_start,
    write=lambda _: tuple(f"torch.backends.cuda.enable_{name}_sdp(True)" for name in _NAMES),
)
