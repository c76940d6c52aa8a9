"""Simulated devices: parameters of the cost model, and properties that recordings contain."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SimDevice:
    """One accelerator.

    Attributes:
        name: as the runtime reports it.
        vendor: ``nvidia``, ``amd`` or ``huawei``.
        capability: compute capability, major and minor; (0, 0) where there is none.
        sms: SMs (CUs; cube cores, each with two vector cores beside it).
        memory: bytes of device memory.
        bandwidth: device-memory rate in bytes per second.
        matrix_flops: dense 16-bit matrix rate per second.
        single_flops: fp32 rate per second, without tensor cores.
        warp: threads per warp.
        compute_stream: number under which the default stream is recorded.
        comm_stream: number of the collectives' stream.
        copy_stream: number of a stream for copies.
        megahertz: clock of the cores, where recordings count cycles.
    """

    name: str
    vendor: str
    capability: tuple[int, int]
    sms: int
    memory: int
    bandwidth: float
    matrix_flops: float
    single_flops: float
    warp: int = 32
    compute_stream: int = 7
    comm_stream: int = 20
    copy_stream: int = 24
    megahertz: int = 0


# Rates are the vendors' data-sheet values for the dense case (V100 SXM2, A100 SXM4 80GB, H100 SXM5, B200,
# Instinct MI300X); memory sizes are what the runtime reports as totalGlobalMem. Huawei publishes none for Ascend
# 910B: 16-bit rates are cube cores x clock x 16 x 16 x 16 x 2 (cores and clock of CANN's platform configuration), a
# quarter of that is assumed for fp32, and the memory rate is that of a 910C's die (arXiv 2506.12708).
DEVICES: dict[str, SimDevice] = {
    "v100": SimDevice("Tesla V100-SXM2-32GB", "nvidia", (7, 0), 80, 34_089_730_048, 900e9, 125e12, 15.7e12),
    "a100": SimDevice("NVIDIA A100-SXM4-80GB", "nvidia", (8, 0), 108, 85_097_971_712, 2039e9, 312e12, 19.5e12),
    "h100": SimDevice("NVIDIA H100 80GB HBM3", "nvidia", (9, 0), 132, 85_014_872_064, 3350e9, 989e12, 67e12),
    "b200": SimDevice("NVIDIA B200", "nvidia", (10, 0), 148, 191_503_138_816, 8000e9, 2250e12, 75e12),
    "mi300x": SimDevice(
        "AMD Instinct MI300X", "amd", (9, 4), 304, 206_141_652_992, 5300e9, 1307e12, 163e12, 64, 0, 4, 5
    ),
    "ascend910b2": SimDevice("Ascend910B2", "huawei", (0, 0), 24, 64 << 30, 1600e9, 354e12, 88e12, 1, 2, 4, 5, 1800),
    "ascend910b3": SimDevice("Ascend910B3", "huawei", (0, 0), 20, 64 << 30, 1600e9, 295e12, 73e12, 1, 2, 4, 5, 1800),
}

# Those that run the kernels of PyTorch's own libraries.
GPUS: tuple[str, ...] = tuple(key for key, device in DEVICES.items() if device.vendor != "huawei")
