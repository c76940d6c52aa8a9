"""Leave to NCCL what variables forbid it."""

from __future__ import annotations

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_FORBID = (
    "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_NET_GDR_DISABLE", "NCCL_ALGO", "NCCL_PROTO",
    "NCCL_MAX_NCHANNELS",
)  # fmt: skip


def _set(seen: Seen) -> list[str]:
    return [name for name in _FORBID if seen.environment.get(name, "0") != "0"]


REMEDY = OutsideRemedy(
    name="nccl-unrestricted",
    title="Leave to NCCL what variables forbid it",
    rules=("COM001", "COM002", "COM010", "CLU002", "CLU007"),
    numbers="rounding",
    changes="the order in which ranks' values are added",
    fits=lambda seen: "" if _set(seen) else said("no variable forbids NCCL anything"),
    evident=lambda seen: bool(_set(seen)),
    variables=lambda seen: dict.fromkeys(_set(seen)),
    write=lambda seen: tuple(f"unset {name}" for name in _set(seen)),
)
