"""Roofline cost model: a kernel takes the larger of the times of its arithmetic and its memory traffic."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.simulate.devices import DEVICES, SimDevice
from stepscope.simulate.job import SimJob

# Shares of the peak rate that well-tuned kernels reach; a large GEMM gets about 70 % of the dense peak and a
# streaming kernel about 85 % of the memory rate on the devices listed.
MATRIX_SHARE = 0.70
ATTENTION_SHARE = 0.50
SCALAR_SHARE = 0.60
MEMORY_SHARE = 0.85

# Blocks of 128 x 128 outputs a GEMM needs per SM to fill the device; below that the rate falls.
TILE = 128


@dataclass(frozen=True, slots=True)
class CostModel:
    """Kernel times for one job's device."""

    device: SimDevice
    scale: float
    floor_ns: int
    single: bool

    @classmethod
    def of(cls, job: SimJob) -> CostModel:
        """The cost model of a job."""
        return cls(DEVICES[job.device], job.compute_scale, job.kernel_floor_ns, job.dtype == "fp32")

    def convolution(self, m: int, n: int, k: int, moved: int) -> int:
        """Time in ns of a convolution as a GEMM (m x k)(k x n); Ascend devices round fp32 to HF32 for it by default."""
        if self.single and self.device.vendor == "huawei":
            return self._gemm_time(m, n, k, 1, moved, self.device.matrix_flops / 2)
        return self.gemm(m, n, k, 1, moved)

    def gemm(self, m: int, n: int, k: int, batch: int, moved: int) -> int:
        """Time in ns of ``batch`` GEMMs (m x k)(k x n) that move ``moved`` bytes."""
        peak = self.device.single_flops if self.single else self.device.matrix_flops
        return self._gemm_time(m, n, k, batch, moved, peak)

    def _gemm_time(self, m: int, n: int, k: int, batch: int, moved: int, peak: float) -> int:
        tiles = batch * -(-m // TILE) * -(-n // TILE)
        filled = min(1.0, tiles / self.device.sms)
        return self._time(2 * batch * m * n * k, peak * MATRIX_SHARE * max(filled, 0.05), moved)

    def attention(self, flops: int, moved: int) -> int:
        """Time of a fused attention kernel in ns."""
        peak = self.device.single_flops if self.single else self.device.matrix_flops
        return self._time(flops, peak * ATTENTION_SHARE, moved)

    def stream(self, moved: int, flops: int = 0) -> int:
        """Time of a kernel that reads and writes ``moved`` bytes, in ns."""
        return self._time(flops, self.device.single_flops * SCALAR_SHARE, moved)

    def _time(self, flops: int, rate: float, moved: int) -> int:
        seconds = max(flops / rate, moved / (self.device.bandwidth * MEMORY_SHARE))
        return max(self.floor_ns, int(self.scale * (self.floor_ns + seconds * 1e9)))
