"""Ascend's names of PyTorch's operators, calls and element types."""

from __future__ import annotations

import re
from typing import Final

from stepscope.simulate.specs import KernelSpec, OpSpec, TensorSpec

_OPERATORS: Final = {
    "aten::cudnn_convolution": "aten::convolution_overrideable",
    "aten::cudnn_batch_norm": "aten::native_batch_norm",
    "aten::cudnn_batch_norm_backward": "aten::native_batch_norm_backward",
    "aten::_scaled_dot_product_flash_attention": "aten::_scaled_dot_product_fused_attention_overrideable",
    "aten::_scaled_dot_product_flash_attention_backward": (
        "aten::_scaled_dot_product_fused_attention_overrideable_backward"
    ),
    "aten::_flash_attention_forward": "npu::npu_fusion_attention",
    "aten::_flash_attention_backward": "npu::npu_fusion_attention_grad",
    "nccl:all_reduce": "HcclAllreduce",
    "nccl:_all_gather_base": "HcclAllgatherBase",
    "nccl:_reduce_scatter_base": "HcclReduceScatterBase",
}
_COLLECTIVES: Final = {
    "allreduce": ("c10d::allreduce_", "HcclAllreduce"),
    "_allgather_base": ("c10d::_allgather_base_", "HcclAllgatherBase"),
    "_reduce_scatter_base": ("c10d::_reduce_scatter_base_", "HcclReduceScatterBase"),
}
#: Runs a captured graph.
GRAPH: Final = "aclmdlRIExecuteAsync"
_COPIES: Final = {
    "HtoD": "acl_memcpy_host_to_device",
    "DtoH": "acl_memcpy_device_to_host",
    "DtoD": "acl_memcpy_device_to_device",
}
#: Calls of the host outside the framework's queue; other calls keep their name with another prefix.
_CALLS: Final = {
    "cudaMalloc": "aclrtMallocAlign32",
    "cudaFree": "aclrtFree",
    "cudaDeviceSynchronize": "aclrtSynchronizeDevice",
    "cudaStreamSynchronize": "aclrtSynchronizeStreamWithTimeout",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": "aclnnMatmulGetWorkspaceSize",
    "cudaStreamIsCapturing": "aclrtGetCurrentContext",
}
#: The runtime's own names for the calls that reach it.
RUNTIME: Final = {
    "aclrtMallocAlign32": "DevMalloc",
    "aclrtFree": "DevFree",
    "aclrtSynchronizeDevice": "DeviceSynchronize",
    "aclrtSynchronizeStreamWithTimeout": "StreamSynchronize",
    "aclrtMemcpyAsync": "MemcopyAsync",
    "aclrtMemcpy": "MemCopySync",
    "aclrtRecordEvent": "EventRecord",
    "aclrtStreamWaitEvent": "StreamWaitEvent",
}
#: Element types as the framework and as CANN call them.
_TORCH: Final = {
    "bf16": "c10::BFloat16", "fp16": "c10::Half", "fp32": "float", "fp64": "double", "int64": "long int",
    "uint8": "unsigned char",
}  # fmt: skip
_CANN: Final = {
    "bf16": "DT_BF16", "fp16": "FLOAT16", "fp32": "FLOAT", "fp64": "DOUBLE", "int64": "INT64", "uint8": "UINT8",
}  # fmt: skip
HCCL: Final = {"bf16": "BFP16", "fp16": "FP16", "fp32": "FP32", "int64": "INT64", "uint8": "UINT8"}

_CUBE: Final = re.compile(r"MatMul|Conv2D")
_CORES: Final = {
    "FlashAttentionScore": "MIX_AIC",
    "FlashAttentionScoreGrad": "MIX_AIC",
    "NLLLoss": "MIX_AIV",
    "ReduceSum": "MIX_AIV",
}


def operator(spec: OpSpec, nested: bool) -> str:
    """An operator's name; memory that another operator needs is taken by ``empty_tensor``."""
    if spec.name == "record_param_comms":
        return _COLLECTIVES[str(spec.extra["Collective name"])][0]
    if spec.name == "aten::empty" and nested:
        return "empty_tensor"
    return _OPERATORS.get(spec.name, spec.name)


def task(call: str, spec: KernelSpec | None) -> str:
    """Name of the task enqueued for a call that launches ``spec``; empty if the call bypasses the queue."""
    if call == "cudaEventRecord":
        return "record_event"
    if call == "cudaStreamWaitEvent":
        return "wait_event"
    if call == "cudaGraphLaunch":
        return GRAPH
    if spec is None:
        return ""
    if spec.collective is not None:
        return _COLLECTIVES[spec.collective.name][1]
    return _COPIES[spec.direction] if spec.kind == "copy" else spec.name.partition("_")[0]


def call(name: str) -> str:
    """A call of CANN's public interface."""
    return _CALLS.get(name) or name.replace("cuda", "aclrt", 1)


def op_type(spec: KernelSpec) -> str:
    """The type of a kernel's operator."""
    return spec.name if spec.kind == "comm" else spec.name.rpartition("_")[2]


def core(spec: KernelSpec) -> str:
    """The kind of core a kernel runs on."""
    kind = op_type(spec)
    if "AiCpu" in spec.name:
        return "AI_CPU"
    return _CORES.get(kind) or ("AI_CORE" if _CUBE.search(kind) else "AI_VECTOR_CORE")


def hf32(spec: KernelSpec) -> str:
    """Whether the cube may round operands in fp32: the framework's default allows it for convolutions only."""
    return "YES" if "Conv" in op_type(spec) and spec.inputs[0].dtype == "fp32" else "NO"


def task_type(spec: KernelSpec) -> str:
    """The type of a kernel's task on its stream, which does not distinguish cube and vector cores."""
    kind = core(spec)
    return "AI_CORE" if kind == "AI_VECTOR_CORE" else kind


def shapes(inputs: tuple[TensorSpec | str | None, ...]) -> str:
    """Shapes of an operator's inputs as the framework's events have them."""
    return ";\r\n".join(",".join(map(str, i.shape)) if isinstance(i, TensorSpec) else "" for i in inputs)


def types(inputs: tuple[TensorSpec | str | None, ...]) -> str:
    """Types of an operator's inputs as the framework's events have them."""
    return ";\r\n".join(_type(i) for i in inputs)


def _type(given: TensorSpec | str | None) -> str:
    if isinstance(given, TensorSpec):
        return _TORCH[given.dtype]
    return "None" if not given else "ScalarList" if given.startswith("[") else "Scalar"


def cann_type(dtype: str) -> str:
    """An element type as CANN calls it."""
    return _CANN[dtype]


def layout(tensor: TensorSpec) -> str:
    """The format of a tensor in memory: four dimensions are taken for an image."""
    return "NCHW" if len(tensor.shape) == 4 else "FORMAT_ND"
