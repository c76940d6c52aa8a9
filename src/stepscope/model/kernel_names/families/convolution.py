"""Convolution, batch normalisation and layout kernels of cuDNN, MIOpen, oneDNN and the libraries they generate with."""

from __future__ import annotations

import re

from stepscope.model.kernel_names.rules import Family, exact, rule

_CUDNN_CONV = (
    r"implicit_(?:convolve_s|con\w*)?gemm|convolve_sgemm|explicit_convolve|precomputed_convolve",
    r"[shi]?\d{0,5}cudnn_|_[sh]cudnn|(?:^|_)xmma_(?:fprop|dgrad|wgrad)|_implicit_gemm",
    r"(?:s|h|d|i)\d*(?:fprop|dgrad|wgrad)|(?:fprop|dgrad|wgrad)_(?:optimized|analytic|implicit|alg|engine|2d|3d)",
    r"(?:^|::|_)(?:dgrad|wgrad|fprop)\w*(?:engine|kernel|helper)|reduce_wgrad|conv(?:2d|3d)?_?(?:fprop|dgrad|wgrad)",
    r"winograd|(?:^|_)fft[12]d_|flip_filter|compute_gemm_pointers|im2col|col2im",
    r"ImplicitGemmConvolution|::conv::|(?:^|::)convolution::|depthwise_?conv|conv_?depthwise|conv2d_grouped|conv_fwd",
    r"cask_?\w*cudnn\w*::|cutlass_cudnn\w*::|cudnn::cnn::|cudnn_\w*cutlass",
)

FAMILY = Family(
    "convolution libraries",
    re.compile(
        r"cudnn|conv|winograd|xmma_(?:fprop|dgrad|wgrad)|implicit|fprop|dgrad|wgrad|fft[12]d_|im2col|col2im|igemm_"
        r"|miopen|nchw|nhwc|bn_(?:fw|bw)|flip_filter|compute_gemm_pointers|SubTensorOp|Op[1-5]dTensor|batched_transpose"
        r"|transpose_\w*CN?HW|naive_|gridwise|onednn|dnnl|pooling_|Sp3Asm|gemm_bwd_weight|bwd_weight|bwd_data",
        re.IGNORECASE,
    ),
    (
        rule("copy", r"nchw2?_?(?:to)?_?nhwc|nhwc2?_?(?:to)?_?nchw|CNHW2?|nchw2cnhw|batched_transpose|tensorTransform"),
        rule("normalisation", r"(?:^|::|_)bn_(?:fw|bw|inf)|miopen\w*(?:batch|layer|group|rms|t5layer)_?norm|batch_?norm"),
        rule("normalisation", r"cudnn\w*(?:layer|rms|instance|group)_?norm|(?:rms|layer|batch)norm_(?:fwd|bwd|fp|bp)"),
        rule("attention", r"cudnn\w*(?:sdpa|fmha|flash|attention)", r"(?:sdpa|attention)\w*cudnn"),
        rule("reduction", r"miopen\w*(?:pool|softmax|reduce)", r"cudnn::ops::(?:pool|softmax)|(?:^|::)(?:pooling|softmax)_"),
        rule("elementwise", r"SubTensorOp|Op[1-5]dTensor|scalePackedTensor|op_generic_tensor|(?:^|::)(?:add|mul)Tensor"),
        rule("elementwise", r"miopen\w*(?:neuron|activ)|(?:^|::)activation_(?:fw|bw)|cudnn::ops::(?:activ|add|elt)"),
        rule("convolution", *_CUDNN_CONV),
        rule("convolution", r"^igemm_|^miopen\w*(?:conv|sp3asm|winograd|igemm|gcn)|miopenSp3|miopengcn|naive_\w*conv"),
        rule("convolution", r"kernel_\w*conv|DeviceGroupedConv|bwd_weight|bwd_data|grouped_conv|Convolution(?:Fwd|Bwd)"),
        rule("convolution", r"(?:^|[:_])conv(?:olution|olve)?(?:[123]d)?(?:_|$|[A-Z])|gen_conv|conv_\w*kernel"),
        rule("reduction", r"softmax|pool(?:ing)?_"),
        exact("convolution", r"^(?:gridwise_)?convolution_", r"^Conv_?[A-Z_]"),
    ),
)
