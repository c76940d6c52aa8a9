"""The kernels that a job can launch, named as in PyTorch's libraries."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stepscope.simulate import ascend_kernels
from stepscope.simulate.costs import CostModel
from stepscope.simulate.job import SimJob
from stepscope.simulate.library_kernels import SCALARS, attention_name, conv_name, gemm_name
from stepscope.simulate.specs import DTYPE_BYTES, Collective, KernelSpec, TensorSpec

# An AI CPU is a few scalar cores; assumed are 30 µs to start a task on it and 4 GB/s of traffic.
_AI_CPU_START_NS = 30_000
_AI_CPU_BANDWIDTH = 4e9


def _blocks(count: int, per_block: int) -> tuple[int, int, int]:
    return (max(1, -(-count // per_block)), 1, 1)


@dataclass(frozen=True, slots=True)
class KernelFactory:
    """Makes kernel descriptions for one job."""

    job: SimJob
    costs: CostModel

    @classmethod
    def of(cls, job: SimJob) -> KernelFactory:
        """The kernels of a job."""
        return cls(job, CostModel.of(job))

    @property
    def scalar(self) -> str:
        """C++ name of the job's element type."""
        return SCALARS[self.job.dtype]

    def gemm(self, m: int, n: int, k: int, layout: str, batch: int = 1) -> KernelSpec:
        """GEMM (m x k)(k x n)."""
        width = DTYPE_BYTES[self.job.dtype]
        moved = batch * width * (m * k + k * n + m * n)
        tile = 128 if min(m, n) >= 128 else 64
        return KernelSpec(
            name=gemm_name(self.costs.device, self.job.dtype, tile, layout, batch),
            kind="compute",
            op_class="gemm",
            duration_ns=self.costs.gemm(m, n, k, batch, moved),
            grid=(-(-n // tile), -(-m // tile), batch),
            block=(256 if tile == 128 else 128, 1, 1),
            registers=168,
            shared_bytes=tile * 768,
            flops=2 * batch * m * n * k,
            bytes=moved,
            inputs=(self._matrix(batch, m, k), self._matrix(batch, *((n, k) if layout == "tn" else (k, n)))),
            outputs=(self._matrix(batch, m, n),),
        )

    def _matrix(self, batch: int, rows: int, columns: int) -> TensorSpec:
        return TensorSpec((rows, columns) if batch == 1 else (batch, rows, columns), self.job.dtype)

    def elementwise(self, functor: str, tensor: TensorSpec, operands: int, op_class: str = "elementwise") -> KernelSpec:
        """Pointwise kernel that touches ``operands`` tensors of this shape."""
        functor = self._filled(functor)
        array = f"std::array<char*, {operands}ul>"
        name = (
            f"void at::native::vectorized_elementwise_kernel<4, at::native::{functor}, {array} >"
            f"(int, at::native::{functor}, {array})"
        )
        return self._streaming(name, op_class, tensor, operands)

    def double(self, tensor: TensorSpec) -> KernelSpec:
        """GEMM of two fp64 tensors, for which Ascend's cores have no instructions: their AI CPU computes it."""
        if not self._ascend:
            return self.elementwise("BinaryFunctor<double, double, double, MulFunctor<double> >", tensor, 3)
        moved = 3 * tensor.bytes
        return KernelSpec(
            name=ascend_kernels.DOUBLE,
            kind="compute",
            op_class="elementwise",
            duration_ns=_AI_CPU_START_NS + int(moved / _AI_CPU_BANDWIDTH * 1e9),
            flops=tensor.elements,
            bytes=moved,
            inputs=(tensor, tensor),
            outputs=(tensor,),
        )

    def copy(self, tensor: TensorSpec) -> KernelSpec:
        """Strided copy (``contiguous``, dtype conversion)."""
        name = (
            "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
            "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
            f"{{lambda()#12}}::operator()() const::{{lambda({self.scalar})#1}}>"
            "(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"
        )
        return self._streaming(name, "copy", tensor, 3)

    def named(self, name: str, op_class: str, tensor: TensorSpec, operands: float, block: int = 256) -> KernelSpec:
        """A streaming kernel under a given name, in which ``T`` stands for the element type."""
        return self._streaming(self._filled(name), op_class, tensor, operands, block)

    def attention(self, batch: int, heads: int, sequence: int, width: int, backward: bool) -> KernelSpec:
        """Fused attention; the backward takes five GEMMs where the forward takes two."""
        flops = (10 if backward else 4) * batch * heads * sequence * sequence * width
        moved = (8 if backward else 4) * batch * heads * sequence * width * DTYPE_BYTES[self.job.dtype]
        part = TensorSpec((batch, heads, sequence, width), self.job.dtype)
        return KernelSpec(
            name=attention_name(self.costs.device, self.job.dtype, width, backward),
            kind="compute",
            op_class="attention",
            duration_ns=self.costs.attention(flops, moved),
            grid=(-(-sequence // 128), batch, heads),
            block=(128, 1, 1),
            registers=255,
            shared_bytes=81920,
            flops=flops,
            bytes=moved,
            inputs=(part,) * (5 if backward else 3),
            outputs=(part,) * (3 if backward else 1),
        )

    def convolution(self, x: TensorSpec, out: TensorSpec, weight: TensorSpec, which: str) -> KernelSpec:
        """Convolution of ``x`` as an implicit GEMM; ``which`` is ``fprop``, ``dgrad`` or ``wgrad``."""
        n, k, height, width = out.shape
        _, c, r, s = weight.shape
        moved = 3 * out.bytes + weight.bytes
        m, depth = n * height * width, c * r * s
        return KernelSpec(
            name=conv_name(self.costs.device, self.job.dtype, which),
            kind="compute",
            op_class="convolution",
            duration_ns=self.costs.convolution(m, k, depth, moved),
            grid=(-(-m // 128), -(-k // 128), 1),
            block=(256, 1, 1),
            registers=230,
            shared_bytes=98304,
            flops=2 * m * k * depth,
            bytes=moved,
            inputs={"fprop": (x, weight), "dgrad": (weight, out), "wgrad": (x, out)}[which],
            outputs={"fprop": (out,), "dgrad": (x,), "wgrad": (weight,)}[which],
        )

    def foreach(self, op: str, functor: str, tensors: tuple[int, ...], operands: int) -> tuple[KernelSpec, ...]:
        """Multi-tensor kernels of ``aten::<op>`` over tensors of these element counts, at most 110 per launch."""
        anonymous = "at::native::(anonymous namespace)::"
        types = f"{anonymous}TensorListMetadata<{min(operands, 5)}>", f"{anonymous}{self._filled(functor)}"
        name = f"void {anonymous}multi_tensor_apply_kernel<{types[0]}, {types[1]}>({types[0]}, {types[1]})"
        if self._ascend:
            name = ascend_kernels.foreach(op)
        specs = []
        for start in range(0, len(tensors), 110):
            elements = sum(tensors[start : start + 110])
            chunk = TensorSpec((elements,), self.job.dtype)
            specs.append(self._streaming(name, "optimizer", chunk, operands, 512, 65536))
        return tuple(specs)

    def memcpy(self, bytes_: int, direction: str, pinned: bool) -> KernelSpec:
        """Copy between host and device (``HtoD``, ``DtoH``) or within the device (``DtoD``)."""
        host = "Pinned" if pinned else "Pageable"
        ends = {"HtoD": (host, "Device"), "DtoH": ("Device", host), "DtoD": ("Device", "Device")}[direction]
        rate = self.job.pinned_bandwidth if pinned else self.job.pageable_bandwidth
        if direction == "DtoD":
            rate = self.costs.device.bandwidth / 2
        return KernelSpec(
            name=ascend_kernels.MEMCPY if self._ascend else f"Memcpy {direction} ({ends[0]} -> {ends[1]})",
            kind="copy",
            op_class="copy",
            duration_ns=1_100 + int(bytes_ / rate * 1e9),
            bytes=bytes_,
            direction=direction,
        )

    def memset(self, bytes_: int) -> KernelSpec:
        """Set device memory; Ascend devices run a kernel for it."""
        if self._ascend:
            width = DTYPE_BYTES[self.job.dtype]
            zeroed = TensorSpec((max(1, bytes_ // width),), self.job.dtype)
            return self._streaming(ascend_kernels.ZERO, "elementwise", zeroed, 1)
        duration = 900 + int(bytes_ / self.costs.device.bandwidth * 1e9)
        return KernelSpec("Memset (Device)", "set", "copy", duration, bytes=bytes_)

    def collective(self, what: Collective) -> KernelSpec:
        """A collective; its time is the transfer's, from the arrival of the last rank."""
        job, count = self.job, len(what.between)
        factor = {"allreduce": 2 * (count - 1) / count, "send": 1.0, "recv": 1.0}.get(what.name, (count - 1) / count)
        hosts = {rank // job.ranks_per_host for rank in what.between}
        rate = job.link_bandwidth if len(hosts) == 1 else job.network_bandwidth
        if job.slow_link_rank in what.between and (job.slow_link_peer < 0 or job.slow_link_peer in what.between):
            rate /= job.slow_link_factor
        transfer = job.comm_latency_ns + int(what.bytes * factor / rate * 1e9)
        return KernelSpec(
            name=what.kernel,
            kind="comm",
            op_class="collective",
            duration_ns=max(1, transfer),
            grid=(24, 1, 1),
            block=(544, 1, 1),
            registers=96,
            shared_bytes=87568,
            bytes=what.bytes,
            collective=what,
        )

    @property
    def _ascend(self) -> bool:
        return self.costs.device.vendor == "huawei"

    def _filled(self, name: str) -> str:
        return re.sub(r"\bT\b", self.scalar, name)

    def _streaming(
        self, name: str, op_class: str, tensor: TensorSpec, operands: float, block: int = 128, chunk: int = 0
    ) -> KernelSpec:
        elements = tensor.elements
        moved = int(operands * tensor.bytes)
        if self._ascend and not name.startswith("aclnn"):
            name = ascend_kernels.kernel(name)
        return KernelSpec(
            name=name,
            kind="compute",
            op_class=op_class,
            duration_ns=self.costs.stream(moved, elements),
            grid=_blocks(elements, chunk or block * 4),
            block=(block, 1, 1),
            flops=elements,
            bytes=moved,
            inputs=(tensor,) * max(1, round(operands) - 1),
            outputs=(tensor,),
        )
