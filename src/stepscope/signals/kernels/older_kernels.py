"""Attention kernels made for an earlier generation of devices than the one in use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.shared.needs import need_device
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.signals.kernels.dominance import compute
from stepscope.signals.shared.job import spread
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal

#: FlashAttention-2's kernels, forward and backward; those of FlashAttention-3 have `Sm90` in their names.
_SECOND: Final = re.compile(r"\bflash_(fwd|bwd)_\w*kernel")
_THIRD: Final = re.compile(r"[Ss]m90|hopper", re.IGNORECASE)
#: Hopper; Blackwell's best kernels are others again.
_HOPPER: Final = 9.0
#: cuBLAS and CUTLASS name kernels that run on Hopper alone so (`nvjet_sm100_...` is Blackwell's).
_HOPPER_ALONE: Final = re.compile(r"^nvjet_(?!sm)|(?:^|_)sm90_xmma|Sm90")
#: Below that a launch has too few tokens for what the kernels differ in.
_LONG_NS: Final = 100_000
_CAPABILITY_SQL: Final = "SELECT max(try_cast(compute_capability AS DOUBLE)) FROM devices WHERE used"


@dataclass(frozen=True, slots=True, eq=False)
class Older:
    """n long launches of FlashAttention-2 on Hopper.

    Attributes:
        events: int64[n], the longest first.
        total_ns: Time of all of them.
        share: That time as a share of the steps.
    """

    events: Ids
    total_ns: int
    share: float


@signal()
def older_attention(s: Signals) -> Older:
    """Long launches of FlashAttention-2 kernels on a device that FlashAttention-3 supports."""
    need_device(s.trace)
    nothing = Older(np.zeros(0, np.int64), 0, 0.0)
    work, names = DeviceWork.of(s.trace), s.trace.once(names_by_id)
    capability = s.trace.scalar(_CAPABILITY_SQL)
    ran = np.unique(work.name[work.are("compute")]).tolist()
    if capability != _HOPPER and (capability or not any(_HOPPER_ALONE.search(names[name]) for name in ran)):
        return nothing
    used = np.unique(work.name[work.is_class("attention")]).tolist()
    mine = [name for name in used if _SECOND.search(names[name]) and not _THIRD.search(names[name])]
    at = np.flatnonzero(np.isin(work.name, mine) & (work.dur >= _LONG_NS))
    at = at[np.argsort(-work.dur[at], kind="stable")]
    total = int(work.dur[at].sum())
    return Older(work.event[at], total, total / s(spread) / s(compute).length_ns)
