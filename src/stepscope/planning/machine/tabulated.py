"""What kinds of devices sustain and how they are linked, where no recording says it.

Shares of the peak that large matrix multiplications reach are measured ones: the table of maximum achievable FLOPS in
S. Bekman, Machine Learning Engineering (github.com/stas00/ml-engineering, compute/accelerator, 2025): A100 SXM 271 of
312 TFLOP/s, H100 SXM 794 of 989 (fp8: 1,403 of 1,979), MI250X 147 of 191.5 per die, MI300X 668 to 782 of 1,307, Gaudi 2
429 of 432. Long runs at the power limit reach less than the best shape does in a short one; the figures here are 0.93
of it (0.88 where power limits most: Hopper and later). Devices without a measurement take their kin's.

GeForce cards, whose peaks with sums in fp32 are half of what their cores could do, come near these: 160 of 165 TFLOP/s
on an RTX 4090, 235 of 209 on an RTX 5090, which clocks higher than stated (bf16, 8192 x 8192 by torch;
zzc0721/torch-performance-test-data, issues 78 and 96); the lower share is taken for all of them.

Fused attention: FlashAttention-2 (arXiv 2307.08691) reaches up to 230 TFLOP/s forward and 196 backward on an A100, and
about 390 and 330 on an H100; FlashAttention-3 (arXiv 2407.08608) up to 640 and 560 there with a causal mask.

Ascend 910B: FlashAttentionScore and its gradient run at 78 and 76 TFLOP/s, 0.29 and 0.28 of the peak, with 16 heads of
128 and 4,096 tokens in a causal mask (Qwen3-0.6B under MindSpeed-LLM, recording test/st/level2 of Ascend/msinsight);
forward at 151 TFLOP/s, 0.43, with 32,768 tokens and no mask, which see as much as 65,536 in a mask (torch_npu on a
910B2, README of pto-isa). Both lie on share x tokens / (tokens + 2,450). Cubes multiply for 35 % of that time and hand
scores over (fixpipe) for 80 %: heads half as wide take as long. Sums of gradients, cuts and joins of queries, keys and
values are kernels of their own in the same recording, and RmsNormGrad runs at 225 GB/s where others stream 600. GPT-3
under AscendSpeed (Ascend/mstt, test of compute advice) has LayerNorm at 614 GB/s where others stream 1,250, Adam at
0.74 of the memory's rate, and multiplications at 302 to 315 TFLOP/s, 0.85 to 0.89 of a 910B2's peak.

Bandwidths of links are nccl-tests' bus bandwidths at large sizes (8 A100 SXM: 230 to 250 GB/s; 8 H100 SXM: 460 to 480
with NVLink SHARP, about 370 without), else 0.75 of what the vendor states for one direction. Networks are those of the
vendor's reference design (DGX A100: 200 Gb/s per device, DGX H100: 400), of which collectives reach 0.85.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sustained:
    """What a kind of device sustains.

    Attributes:
        pattern: Matches names of the device table.
        half: Share of the 16-bit peak.
        eight: Share of the 8-bit peak.
        attention: Shares of the 16-bit peak, forward and backward.
        attention3: The same with the newest fused kernels.
        per_server: Devices that the fast links join.
        link: Bus bandwidth within a server, GB/s.
        network: Bus bandwidth between servers and device, GB/s.
        units: Number of SMs where the table of devices has none.
        watts: Power at which the shares hold.
        collectives: `NCCL`, `RCCL` or `HCCL`.
        npu: Whether it is one of Huawei's NPUs: `Platform.scores`, `separate` and their `reach`.
        mesh: Whether the fast links join each device to each, without a switch: Infinity Fabric (MI300X), HCCS (910B).
    """

    pattern: re.Pattern[str]
    half: float
    eight: float
    attention: tuple[float, float]
    attention3: tuple[float, float]
    per_server: int
    link: float
    network: float
    units: int
    watts: int
    collectives: str = "NCCL"
    mesh: bool = False
    npu: bool = False


def _row(
    pattern: str,
    shares: tuple[float, float],
    attention: tuple[float, float],
    attention3: tuple[float, float] | None,
    links: tuple[int, float, float],
    rest: tuple[int, int],
    collectives: str = "NCCL",
    *,
    mesh: bool = False,
    npu: bool = False,
) -> Sustained:
    """A row: links are (per server, GB/s within, GB/s between), rest is (units, watts)."""
    return Sustained(
        re.compile(pattern),
        half=shares[0],
        eight=shares[1],
        attention=attention,
        attention3=attention3 or attention,
        per_server=links[0],
        link=links[1],
        network=links[2],
        units=rest[0],
        watts=rest[1],
        collectives=collectives,
        mesh=mesh,
        npu=npu,
    )


SUSTAINED: Final = (
    _row(r"GB[23]00", (0.70, 0.66), (0.30, 0.22), (0.50, 0.38), (64, 680, 42), (148, 1200)),
    _row(r"B[123]00", (0.70, 0.66), (0.30, 0.22), (0.50, 0.38), (8, 680, 42), (148, 1000)),
    _row(r"GH200", (0.73, 0.66), (0.38, 0.31), (0.58, 0.46), (4, 370, 42), (132, 900)),
    _row(r"H100-NVL|H200-NVL|H[128]00-PCIE", (0.66, 0.60), (0.36, 0.29), (0.52, 0.42), (8, 40, 21), (114, 400)),
    _row(r"H800", (0.71, 0.64), (0.38, 0.31), (0.58, 0.46), (8, 160, 42), (132, 700)),
    _row(r"H[12]00", (0.71, 0.64), (0.38, 0.31), (0.58, 0.46), (8, 370, 42), (132, 700)),
    _row(r"H20\b", (0.88, 0.85), (0.65, 0.55), (0.75, 0.65), (8, 370, 42), (78, 500)),
    _row(r"A800-SXM", (0.81, 0.81), (0.66, 0.54), None, (8, 155, 21), (108, 400)),
    _row(r"A[18]00-PCIE", (0.75, 0.75), (0.62, 0.50), None, (8, 18, 10), (108, 300)),
    _row(r"A100", (0.81, 0.81), (0.66, 0.54), None, (8, 235, 21), (108, 400)),
    _row(r"V100.*PCIE|V100S", (0.70, 0.70), (0.35, 0.25), None, (4, 10, 5), (80, 250)),
    _row(r"V100", (0.74, 0.74), (0.35, 0.25), None, (8, 110, 10), (80, 300)),
    _row(r"MI250", (0.71, 0.71), (0.40, 0.28), None, (8, 75, 10.5), (110, 280), "RCCL"),
    _row(r"MI2[10]0|MI100", (0.70, 0.70), (0.38, 0.26), None, (8, 60, 10.5), (104, 300), "RCCL"),
    _row(r"MI3[025]", (0.50, 0.46), (0.34, 0.24), None, (8, 310, 42), (304, 750), "RCCL", mesh=True),
    _row(r"910C", (0.75, 0.75), (0.46, 0.45), None, (384, 150, 21), (24, 350), "HCCL", npu=True),
    _row(r"910B", (0.77, 0.77), (0.46, 0.45), None, (8, 130, 20), (24, 400), "HCCL", mesh=True, npu=True),
    _row(r"910A", (0.70, 0.70), (0.35, 0.25), None, (8, 60, 10), (32, 310), "HCCL", npu=True),
    _row(r"TPU", (0.75, 0.75), (0.50, 0.40), None, (4096, 200, 10), (8, 300)),
    _row(r"Gaudi", (0.80, 0.75), (0.50, 0.40), None, (8, 200, 30), (24, 600), "HCCL"),
    _row(r"RTX [345]0\d0(?! Laptop)", (0.90, 0.70), (0.55, 0.42), None, (8, 18, 2.5), (84, 350)),
    _row(r"RTX|L4|T4|A10|A30|A40|Quadro", (0.75, 0.70), (0.55, 0.42), None, (8, 18, 2.5), (84, 350)),
    _row(r"", (0.70, 0.60), (0.45, 0.35), None, (8, 100, 20), (108, 400)),
)
