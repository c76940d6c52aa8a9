"""How long a matrix multiplication takes: its share of the peak follows from tiles, waves and depth.

NVIDIA, Matrix Multiplication Background User's Guide (DL performance documentation): a GEMM is cut into tiles, tiles
run in waves over the SMs, and what a partly filled tile or wave leaves idle is lost; short depths lose the start and
end of each tile.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from stepscope.planning.machine.platform import Platform

#: Tiles and what the inner loop reaches with them, relative to the largest.
_TILES = ((256, 128, 1.0), (128, 256, 1.0), (128, 128, 0.94), (64, 256, 0.90), (128, 64, 0.82), (64, 64, 0.66))
#: Depth at which start and end of a tile take as long as its inner loop.
_DEPTH = 160
#: Parts in which the depth may be computed side by side, and what summing them up leaves.
_SPLITS = ((1, 1.0), (2, 0.94), (4, 0.90))

#: How much faster FlashAttention-2 is than Triton's kernels of 2022, forward and backward (Dao 2023, arXiv 2307.08691,
#: section 4.1: 1.3 to 1.5 times, and twice); narrow heads cost those less.
_FIRST = (1.4, 2.0)
#: Widths of weights and what they leave of the rate. NVIDIA's guide: most efficient on A100 are multiples of 128 bytes,
#: 64 elements of 16 bits; below 16 bytes no tensor core can load them as they lie. In between it gives no figures: two
#: published runs that differ in little but the width (14,400 and 13,824 over 8 devices, see the benchmark's page) do.
_ALIGNED = ((64, 1.0), (32, 0.92), (16, 0.82), (8, 0.72), (1, 0.45))


@lru_cache(maxsize=4096)
def aligned(*widths: float) -> float:
    """The share of its rate that a multiplication keeps with weights of these widths; uneven parts are padded."""
    return min(next((kept for step, kept in _ALIGNED if width % step == 0), 1.0) for width in widths)


@lru_cache(maxsize=65536)
def filled_share(m: int, n: int, k: int, units: int) -> float:
    """The share of what a device sustains that a GEMM of these dimensions reaches, by tiles, waves and depth."""
    best = 0.0
    for height, width, inner in _TILES:
        tiles = ceil(m / height) * ceil(n / width)
        inside = (m * n) / (tiles * height * width)
        for parts, kept in _SPLITS:
            if k < 1024 * parts and parts > 1:
                break
            waves = tiles * parts / units
            best = max(best, inside * inner * kept * waves / ceil(waves))
    return best * k / (k + _DEPTH)


def gemm(m: float, n: float, k: float, precision: str, platform: Platform, count: float = 1.0) -> float:
    """Seconds of `count` GEMMs of (m x k) by (k x n)."""
    if min(m, n, k) < 1 or count <= 0:
        return 0.0
    flops = 2.0 * m * n * k
    rate = platform.peak(precision) * platform.share(precision)
    compute = flops / (rate * filled_share(ceil(m), ceil(n), ceil(k), platform.units))
    width = 1 if precision == "fp8" else 4 if precision == "fp32" else 2
    moved = width * (m * k + k * n) + max(2, width) * m * n
    return count * (max(compute, moved / platform.memory_bandwidth) + platform.gap)


def attention_share(platform: Platform, kind: str, head_dim: int, context: float, backward: bool) -> float:
    """Share of the 16-bit peak that fused attention reaches: less in narrow heads and short sequences."""
    shares = platform.attention3 if kind == "flash3" else platform.attention
    narrow = 1.0 if head_dim >= 96 else 0.80 if head_dim >= 64 else 0.6
    if platform.scores:
        narrow = min(1.0, head_dim / 128)
    if kind == "flash1":
        return shares[1 if backward else 0] / _FIRST[1 if backward else 0] * context / (context + platform.reach)
    return shares[1 if backward else 0] * narrow * context / (context + platform.reach)
