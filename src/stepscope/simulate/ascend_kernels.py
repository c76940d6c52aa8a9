"""Kernel names of Ascend's operator library, CANN.

A name has three parts: the call of the framework (``aclnnAdd``), the operator inside it and the operator's type
(``Add``). The pairs below are as recordings of torch_npu 2.1 with CANN 8.0 have them where such a recording shows the
operator, else made up after the same pattern.
"""

from __future__ import annotations

import re
from typing import Final

MATMUL: Final = "aclnnMatmul_MatMulCommon_MatMulV2"
BATCH_MATMUL: Final = "aclnnBatchMatMul_BatchMatMulCommon_BatchMatMulV2"
ZERO: Final = "aclnnInplaceZero_ZerosLikeAiCore_ZerosLike"
DOUBLE: Final = "aclnnMul_MulAiCpu_Mul"
MEMCPY: Final = "MEMCPY_ASYNC"

CONVOLUTIONS: Final = {
    "fprop": "aclnnConvolution_Conv2DCommon_Conv2D",
    "dgrad": "aclnnConvolutionBackward_Conv2DBackpropInputCommon_Conv2DBackpropInput",
    "wgrad": "aclnnConvolutionBackward_Conv2DBackpropFilterCommon_Conv2DBackpropFilter",
}
COLLECTIVES: Final = {
    "allreduce": "hcom_allReduce_",
    "_allgather_base": "hcom_allGather_",
    "_reduce_scatter_base": "hcom_reduceScatter_",
}

# Kernels of PyTorch's own library, by a distinctive part of their names.
_KERNELS: Final = (
    (r"CUDAFunctorOnSelf_add", "aclnnInplaceAdds_AddAiCore_Add"),
    (r"CUDAFunctor_add", "aclnnAdd_AddAiCore_Add"),
    (r"AUnaryFunctor|MulBackward0Functor", "aclnnMuls_MulAiCore_Mul"),
    (r"GeluBackward0Functor", "aclnnGeluBackward_GeluGradAiCore_GeluGrad"),
    (r"GeluCUDAKernelImpl", "aclnnGelu_GeluAiCore_Gelu"),
    (r"ReluBackward0Functor|threshold_kernel", "aclnnThresholdBackward_ReluGrad_ReluGrad"),
    (r"(?i)launch_?clamp_?scalar", "aclnnInplaceRelu_Relu_Relu"),
    (r"layer_norm_grad_input", "aclnnLayerNormBackward_LayerNormGradV3_LayerNormGradV3"),
    (r"GammaBetaBackward", "aclnnLayerNormBackward_ReduceSumOpAiCore_ReduceSum"),
    (r"layer_norm_kernel", "aclnnLayerNorm_LayerNormV4_LayerNormV4"),
    (r"softmax_warp_forward", "aclnnSoftmax_SoftmaxV2OpAiCore_SoftmaxV2"),
    (r"softmax_warp_backward", "aclnnSoftmaxBackward_SoftmaxGradOpAiCore_SoftmaxGrad"),
    (r"cunn_SoftMaxForward", "aclnnLogSoftmax_LogSoftmaxAiCore_LogSoftmaxV2"),
    (r"cunn_SoftMaxBackward", "aclnnLogSoftmaxBackward_LogSoftmaxGrad_LogSoftmaxGrad"),
    (r"nll_loss_forward", "aclnnNLLLoss_NLLLossAiCore_NLLLoss"),
    (r"nll_loss_backward", "aclnnNLLLossBackward_NLLLossGradAiCore_NLLLossGrad"),
    (r"indexSelect", "aclnnEmbedding_GatherV2AiCore_GatherV2"),
    (r"compute_grad_weight", "aclnnEmbeddingDenseBackward_EmbeddingDenseGradV2_EmbeddingDenseGradV2"),
    (r"direct_copy_kernel", "aclnnInplaceCopy_TransposeAiCore_Transpose"),
    (r"sum_functor", "aclnnReduceSum_ReduceSumOpAiCore_ReduceSum"),
    (r"MeanOps", "aclnnMean_ReduceMeanAiCore_ReduceMean"),
    (r"bn_fw", "aclnnBatchNorm_BNTrainingUpdateAiCore_BNTrainingUpdate"),
    (r"bn_bw", "aclnnBatchNormBackward_BNTrainingReduceGradAiCore_BNTrainingReduceGrad"),
    (r"FusedAdam", "aclnnApplyAdamWV2_ApplyAdamWV2_ApplyAdamWV2"),
    (r"DivFunctor", "aclnnDivs_RealDivAiCore_RealDiv"),
)
_FUNCTOR: Final = re.compile(r"(?:^|::)([A-Z][a-z]+)Functor")
_FOREACH: Final = {
    "_foreach_add_": "AddScalar",
    "_foreach_mul_": "MulScalar",
    "_foreach_lerp_": "LerpScalar",
    "_foreach_addcmul_": "AddcmulScalar",
    "_foreach_sqrt": "Sqrt",
    "_foreach_div_": "DivScalarList",
    "_foreach_addcdiv_": "AddcdivScalarList",
    "_foreach_zero_": "ZeroInplace",
}


def kernel(name: str) -> str:
    """CANN's name of the kernel that PyTorch's own library names ``name``."""
    for pattern, native in _KERNELS:
        if re.search(pattern, name):
            return native
    match = _FUNCTOR.search(name)
    return f"aclnnInplace{match[1]}_{match[1]}AiCore_{match[1]}" if match else "aclnnMuls_MulAiCore_Mul"


def foreach(op: str) -> str:
    """CANN's name of the kernel of ``aten::<op>`` over a list of tensors; a fused step has no entry of its own."""
    if op not in _FOREACH:
        return kernel("FusedAdam")
    kind = f"Foreach{_FOREACH[op]}"
    return f"aclnn{kind}_{kind}_{kind}"


def attention(backward: bool) -> str:
    """Name of a fused attention kernel."""
    kind = "FlashAttentionScoreGrad" if backward else "FlashAttentionScore"
    return f"aclnn{kind}_{kind}_{kind}"
