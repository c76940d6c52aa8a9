"""Warps fetch more of the memory than they use.

## What it finds
Kernels that were looked into with a kernel profiler, whose loads or stores of global memory fetch more sectors of 32
bytes than the data fill.

## Why it matters
Memory moves whole sectors. Threads of a warp that read neighbouring elements share them; with a stride, or from odd
addresses, each thread fetches sectors of its own, and most of each is thrown away: the kernel moves several times what
it needs, through L2 and memory.

## How it decides
Counters of Nsight Compute for a kernel that takes `min_share` of the step. One of these is seen: `min_excessive` of
the sectors are more than the data would fill; at most `max_bytes` of the 32 bytes of a sector are used; or a request
takes more than `max_sectors` sectors, the number that 32 threads with 16 bytes each fill. It is advice.

## What to try
Let neighbouring threads read neighbouring elements, 16 bytes each; begin rows at multiples of 32 bytes; make operands
contiguous once instead of reading them with a stride in every call.

## Known limits
Gathers by an index scatter by nature. Sectors that another warp uses from the cache right after are not lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.inspecting import about
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.inspected import Inspected, inspected

_COALESCE = Action(
    "Let neighbouring threads read neighbouring elements, each 16 bytes at once",
    before="float x = in[threadIdx.x * stride];",
    after="float4 x = reinterpret_cast<const float4*>(in)[threadIdx.x];   // Triton: offsets along the contiguous axis",
    page="memory-access",
)
_CONTIGUOUS = Action(
    "Give the operator contiguous operands, once, where its kernel is the library's",
    before="y = x.transpose(1, 2) * scale   # in every layer",
    after="x = x.transpose(1, 2).contiguous()   # once",
    page="memory-access",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at the sectors of each kernel that was looked into."""
    for one in s(inspected):
        seen = _seen(one, limits) if one.share >= limits["min_share"] else ""
        if seen:
            yield about(
                one, said("Warps fetch more of the memory than they use"), seen, (_COALESCE, _CONTIGUOUS), 0.7, limits
            )


def _seen(one: Inspected, limits: Limits) -> str:
    excessive = one.values.get("excessive_sectors")
    if excessive is not None and excessive >= limits["min_excessive"]:
        return said(
            "{excessive} of the sectors that it fetches are more than its data would fill", excessive=percent(excessive)
        )
    for what, name in (("loads", "load"), ("stores", "store")):
        used = one.values.get(f"bytes_per_sector_{name}")
        if used is not None and 0 < used <= limits["max_bytes"]:
            return said("its {what} use {used:.1f} of the 32 bytes of each sector", what=what, used=used)
        sectors = one.values.get(f"sectors_per_{name}")
        if sectors is not None and sectors > limits["max_sectors"]:
            return said("its {what} take {sectors:.1f} sectors per request", what=what, sectors=sectors)
    return ""


RULE = Rule(
    "KRN019",
    "uncoalesced-access",
    thresholds=(
        Threshold("min_share", 0.02, "share", "Less is not worth looking into."),
        Threshold("min_excessive", 0.5, "share", "Half of what is moved is for nothing."),
        Threshold("max_bytes", 16, "bytes", "Half of a sector."),
        Threshold("max_sectors", 16, "sectors", "What 32 threads fill with 16 bytes each, the widest access there is."),
    ),
    check=check,
)
