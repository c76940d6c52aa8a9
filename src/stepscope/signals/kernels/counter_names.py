"""What the cores of NPUs count of a kernel, by the names that it has for all tools and sets of counters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: Counters of the same kind of work, without the core that counted it (`aic_`, `aiv_`).
_SAME: Final[Mapping[str, tuple[str, ...]]] = {
    "bank_conflicts": ("vec_bankgroup_cflt_ratio", "vec_bank_cflt_ratio"),
    "l2_hit_rate": ("l2_hit_rate", "total_hit_rate"),
    "loading": ("mte2_ratio",),
    "cube_busy": ("mac_fp16_ratio", "mac_int8_ratio", "cube_fp16_ratio", "cube_int8_ratio"),
    "vector_fp32": ("vec_fp32_ratio",),
    "buffer_vector": ("ub_read_bw_vector", "ub_write_bw_vector"),
    "buffer_scalar": ("ub_read_bw_scalar", "ub_write_bw_scalar"),
    "reads_hit": ("r0_read_cache_hit", "r1_read_cache_hit"),
    "reads_missed": ("r0_read_cache_miss_allocate", "r1_read_cache_miss_allocate"),
}
#: Of these the cores' largest counts, of all others their sum.
_LARGEST: Final = frozenset(("l2_hit_rate", "loading"))
_NAMES: Final = MappingProxyType(
    {f"{core}{metric}": name for name, metrics in _SAME.items() for metric in metrics for core in ("", "aic_", "aiv_")}
)
METRICS: Final = tuple(_NAMES)


def counted(values: Mapping[str, float]) -> dict[str, float]:
    """Counters by common names, from those of a kernel by the names that the cores' profiler gives them.

    `l2_hit_rate` is the part of the reads that hit, where it is not counted itself.
    """
    found: dict[str, float] = {}
    for metric, value in values.items():
        name = _NAMES.get(metric)
        if name is not None:
            before = found.get(name, 0.0)
            found[name] = max(before, value) if name in _LARGEST else before + value
    reads = found.get("reads_hit", 0.0) + found.get("reads_missed", 0.0)
    if reads > 0:
        found.setdefault("l2_hit_rate", found.get("reads_hit", 0.0) / reads)
    return found
