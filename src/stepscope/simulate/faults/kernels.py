"""Faults of device work: many kernels instead of one, and GEMMs without tensor cores."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _small_kernels(job: SimJob) -> SimJob:
    """Unfused activation, residual and attention: more launches for the same result."""
    return replace(job, elementwise_split=4, gelu_split=8, attention="math")


SMALL_KERNELS = Fault(
    name="small-kernels",
    summary="Pointwise work is written as many small operators.",
    raises=("host dispatch: op overhead", "launch latency", "compute_ns"),
    apply=_small_kernels,
)


def _unfused_activation(job: SimJob) -> SimJob:
    """Each power, multiplication and tanh of the activation is a kernel that reads and writes all of it."""
    return replace(job, gelu_split=8)


UNFUSED_ACTIVATION = Fault(
    name="unfused-activation",
    summary="The activation function is written out operation by operation.",
    raises=("compute_ns",),
    apply=_unfused_activation,
)


def _unfused_attention(job: SimJob) -> SimJob:
    """Scores, scaling, softmax and GEMM as separate operators: the scores travel through memory."""
    return replace(job, attention="math")


UNFUSED_ATTENTION = Fault(
    name="unfused-attention",
    summary="Attention is written out as GEMMs and a softmax.",
    raises=("compute_ns",),
    apply=_unfused_attention,
)


def _unfused_optimizer(job: SimJob) -> SimJob:
    """A launch per tensor and operation, instead of a few over lists of tensors."""
    return replace(job, optimizer_impl="loop")


UNFUSED_OPTIMIZER = Fault(
    name="unfused-optimizer",
    summary="The optimizer updates one tensor after the other.",
    raises=("host dispatch: op overhead", "host dispatch: runtime call", "launch latency"),
    apply=_unfused_optimizer,
)


def _no_tensor_cores(job: SimJob) -> SimJob:
    """GEMMs run without tensor cores, and all data take twice the bytes."""
    return replace(job, dtype="fp32")


NO_TENSOR_CORES = Fault(
    name="no-tensor-cores",
    summary="The model computes in fp32.",
    raises=("compute_ns",),
    apply=_no_tensor_cores,
)

FAULTS = (SMALL_KERNELS, UNFUSED_ACTIVATION, UNFUSED_ATTENTION, UNFUSED_OPTIMIZER, NO_TENSOR_CORES)
