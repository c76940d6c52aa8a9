"""A machine as a plan sees it: a device, what work on it sustains, and the links between devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Platform:
    """One kind of device, many of which make a cluster.

    Attributes:
        name: What reports call it.
        memory_bytes: Size of its memory.
        memory_bandwidth: Bytes per second that streaming kernels reach.
        peaks: FLOP/s of matrix multiplications by type, as the vendor states them.
        sustained: Share of that peak that large matrix multiplications reach, by type.
        units: SMs, CUs or AI cores, for waves of tiles.
        attention: Share of the 16-bit peak that fused attention reaches forward and backward, heads 128 wide and
            sequences long.
        attention3: The same for the fused kernels of Hopper and later; as `attention` where there are none.
        reach: Tokens of a causal sequence at which fused attention runs at half of that share.
        scores: Whether fused attention takes as long for a score however narrow heads are, by moving it rather than by
            computing it: Huawei's NPUs.
        separate: Whether sums of gradients, cutting and joining of queries, keys and values run as kernels of their own
            beside multiplications and attention, and norms at half the memory's rate: Huawei's NPUs.
        per_server: Devices that the fast links join.
        link: Bytes per second that a device moves in a collective within a server: its bus bandwidth.
        mesh: Whether a server's devices are linked each to each, without a switch.
        network: The same between servers, one way.
        latency: Seconds that a step of a collective takes within a server; between servers three times that.
        launch: Seconds that the host takes to issue one kernel, with what PyTorch does for it: from one launch to the
            next, medians in public recordings are 8 to 19 us (ResNet on MI300X, Qwen1.5 on H100), profilers included.
        gap: Seconds between two kernels of a queue.
        host_link: Bytes per second from and to the host's memory.
        context_bytes: Memory of a process beyond what the framework allocates: context, code, libraries.
        channel_bytes: Buffers of a communicator.
        collectives: Library that makes the collectives: `NCCL`, `RCCL` or `HCCL`.
        source: Where the figures come from.
        taken: What a recording said instead, as sentences.
    """

    name: str
    memory_bytes: int
    memory_bandwidth: float
    peaks: Mapping[str, float]
    sustained: Mapping[str, float]
    units: int
    attention: tuple[float, float]
    attention3: tuple[float, float]
    per_server: int
    link: float
    network: float
    mesh: bool = False
    reach: float = 400.0
    scores: bool = False
    separate: bool = False
    latency: float = 6e-6
    launch: float = 15e-6
    gap: float = 1.2e-6
    host_link: float = 20e9
    context_bytes: int = 600 << 20
    channel_bytes: int = 96 << 20
    collectives: str = "NCCL"
    source: str = ""
    taken: tuple[str, ...] = field(default=())

    def peak(self, precision: str) -> float:
        """FLOP/s of matrix multiplications in a precision; what the device lacks runs in 16 bits."""
        half = self.peaks.get("bf16") or self.peaks.get("fp16") or next(iter(self.peaks.values()))
        if precision == "fp32":
            return self.peaks.get("tf32") or self.peaks.get("fp32") or half / 8
        return self.peaks.get(precision) or half

    def share(self, precision: str) -> float:
        """Share of that peak that large matrix multiplications sustain."""
        if precision == "fp8" and "fp8" not in self.peaks:
            precision = "bf16"
        return self.sustained.get(precision, self.sustained["bf16"])
