"""Layouts to choose from: every combination of what is not fixed that can be built and is not plainly worse."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from stepscope.model.errors import UserError
from stepscope.planning.layout import Framework, Layout, Recompute, Schedule, check
from stepscope.planning.request import Request, completed, usual_precision

#: Tokens that a context-parallel rank has at least, unless it is fixed.
_LEAST_TOKENS: Final = 2048
_MICRO_BATCHES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_MOST_STAGES: Final = 64
#: Layers of the fullest stage or chunk, as a multiple of the mean, up to which a division is looked at.
_UNEVEN: Final = 1.07


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    small = [n for n in range(1, math.isqrt(number) + 1) if number % n == 0]
    return small + [number // n for n in reversed(small) if n * n != number]


def groups(asked: Request) -> Iterator[dict[str, Any]]:
    """Sizes of groups, micro-batch and chunks: what decides most, and the rest depends on."""
    devices = asked.devices
    for tp in _choices(asked, "tp", [n for n in divisors(devices) if _tensor(asked, n)]):
        for pp in _choices(asked, "pp", _stages(asked, tp)):
            for cp in _choices(asked, "cp", _context(asked, tp * pp)):
                if devices % (tp * pp * cp):
                    continue
                dp = devices // (tp * pp * cp)
                if asked.fixed.get("dp", dp) != dp or dp > asked.fixed["global_batch"]:
                    continue
                split = asked.fixed.get("expert_tp", 1) or tp
                for ep in _choices(asked, "ep", _experts(asked, dp * cp * tp // split)):
                    for micro in _choices(asked, "micro_batch", _sizes(asked, dp)):
                        for virtual in _choices(asked, "virtual_stages", _chunks(asked, pp, dp, micro)):
                            yield {"tp": tp, "pp": pp, "cp": cp, "dp": dp, "ep": ep, "micro_batch": micro,
                                   "virtual_stages": virtual, "sequence_parallel": tp > 1,
                                   "expert_tp": 1 if asked.shape.experts else 0}  # fmt: skip


def layouts(asked: Request, group: dict[str, Any], framework: Framework) -> Iterator[Layout]:
    """Layouts of a group, those that recompute least first."""
    if framework is Framework.TORCHTITAN and "framework" not in asked.fixed and group["dp"] * group["cp"] == 1:
        return  # nothing is sharded: Megatron's layout is the same
    if framework is Framework.FSDP and any(group[one] > 1 and one not in asked.fixed for one in ("pp", "ep")):
        return  # FSDP2 by itself has neither stages nor experts of several ranks: torchtitan has
    stages = _choices(asked, "zero", _stages_of_zero(group, framework))
    for zero, schedule in ((one, other) for one in stages for other in _schedules(asked, group, framework)):
        for recompute, layers in _recomputations(asked, framework):
            again = {"recompute": recompute, "recomputed_layers": layers, **schedule}
            try:
                layout = completed(asked, **group, zero=zero, framework=framework, **again)
                check(layout, asked.shape.layers, asked.shape.heads, asked.shape.experts, asked.devices)
            except UserError:
                continue
            yield layout


def frameworks(asked: Request) -> list[Framework]:
    """Whose rules are looked at: the one asked for, else Megatron's and, where weights may be sharded, FSDP's."""
    if "framework" in asked.fixed:
        return [Framework(asked.fixed["framework"])]
    if asked.fixed.get("zero") == 3:
        return [Framework.TORCHTITAN]
    return [Framework.MEGATRON, Framework.TORCHTITAN] if "zero" not in asked.fixed else [Framework.MEGATRON]


def precisions(asked: Request) -> list[str]:
    """What is multiplied in: 16 bits, and 8 where the device and the framework have them."""
    eight = "fp8" in asked.platform.peaks and asked.fixed.get("framework") is not Framework.DEEPSPEED
    return [usual_precision(asked.platform), *(["fp8"] if eight else [])]


def _choices(asked: Request, name: str, usual: list[int]) -> list[int]:
    return [asked.fixed[name]] if name in asked.fixed else usual


def _tensor(asked: Request, tp: int) -> bool:
    shape = asked.shape
    small = tp <= min(asked.platform.per_server, 64) and shape.heads % tp == 0
    return small and (shape.kv_heads % tp == 0 or tp % shape.kv_heads == 0)


def _stages(asked: Request, tp: int) -> list[int]:
    layers = asked.shape.layers
    found = [n for n in divisors(asked.devices // tp) if n <= min(layers, _MOST_STAGES)]
    return [n for n in found if _nearly_even(layers, n)] or found


def _nearly_even(layers: int, parts: int) -> bool:
    """Whether the fullest of so many parts has hardly more layers than the mean one: 61 in 16, say, or 126 in 16."""
    return parts <= layers and -(-layers // parts) * parts <= _UNEVEN * layers


def _context(asked: Request, used: int) -> list[int]:
    most = max(1, asked.fixed["seq"] // _LEAST_TOKENS) if asked.fixed["seq"] >= 16384 else 1
    return [n for n in divisors(asked.devices // used) if n <= min(most, 64) and n & (n - 1) == 0]


def _experts(asked: Request, ranks: int) -> list[int]:
    if not asked.shape.experts:
        return [1]
    return [n for n in divisors(asked.shape.experts) if ranks % n == 0]


def _sizes(asked: Request, dp: int) -> list[int]:
    batch = asked.fixed["global_batch"]
    return [n for n in _MICRO_BATCHES if batch % (dp * n) == 0] or [1]


def _chunks(asked: Request, pp: int, dp: int, micro: int) -> list[int]:
    """One chunk, or a few where layers and micro-batches divide, as an interleaved schedule needs."""
    count = asked.fixed["global_batch"] // (dp * micro)
    if pp == 1 or "schedule" in asked.fixed or count % pp:
        return [1]
    return [1] + [v for v in (2, 3, 4, 5, 6, 8) if _nearly_even(asked.shape.layers, pp * v)]


def _schedules(asked: Request, group: dict[str, Any], framework: Framework) -> list[dict[str, Schedule]]:
    """The usual schedule, and beside it the zero-bubble one where the framework has it."""
    offered = framework is Framework.TORCHTITAN and group["pp"] > 1 and group["virtual_stages"] == 1
    return [{}, {"schedule": Schedule.ZERO_BUBBLE}] if offered and "schedule" not in asked.fixed else [{}]


def _stages_of_zero(group: dict[str, Any], framework: Framework) -> list[int]:
    if framework in (Framework.FSDP, Framework.TORCHTITAN):
        return [3] if group["dp"] * group["cp"] > 1 else [0]
    if framework is Framework.DEEPSPEED:
        return [1, 2, 3] if group["pp"] == 1 else [1]
    return [1] if group["dp"] * group["cp"] > 1 else [0]


def _recomputations(asked: Request, framework: Framework) -> list[tuple[Recompute, int]]:
    if "recompute" in asked.fixed:
        return [(asked.fixed["recompute"], asked.fixed.get("recomputed_layers", 0))]
    layers = asked.shape.layers
    found = [(Recompute.NONE, 0)]
    if framework in (Framework.FSDP, Framework.TORCHTITAN):
        found.append((Recompute.OPERATORS, 0))
    elif asked.fixed.get("attention") == "unfused":
        found.append((Recompute.SELECTIVE, 0))
    elif framework is Framework.MEGATRON:
        found.append((Recompute.MODULES, 0))
    parts = [(Recompute.LAYERS, max(1, layers * share // 4)) for share in (1, 2, 3)]
    if framework is Framework.MEGATRON and asked.shape.experts:
        parts.insert(2, (Recompute.EXPERTS, 0))  # takes longer than half of all layers
    return [*found, *parts, (Recompute.FULL, 0)]
