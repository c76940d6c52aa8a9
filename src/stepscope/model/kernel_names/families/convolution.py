"""Convolution, batch normalisation and layout kernels of cuDNN, MIOpen, oneDNN and what they are made of."""

from __future__ import annotations

from stepscope.model.kernel_names.rules import Family, exact, rule

_CUDNN_CONV = (
    r"implicit_(?:convolve_s|con\w*)?gemm|convolve_sgemm|explicit_convolve|precomputed_convolve",
    r"[shi]?\d{0,5}cudnn_|_[sh]cudnn|(?:^|_)xmma_(?:fprop|dgrad|wgrad)|_implicit_gemm",
    r"(?:s|h|d|i)\d*(?:fprop|dgrad|wgrad)"
    r"|(?:fprop|dgrad|wgrad)(?:[123]d)?_(?:optimized|analytic|implicit|alg|engine|2d|3d)",
    r"(?:^|::|_)(?:dgrad|wgrad|fprop)\w*(?:engine|kernel|helper)|reduce_wgrad"
    r"|conv(?:2d|3d)?_?(?:fprop|dgrad|wgrad)",
    r"winograd|(?:^|_)fft[12]d_|flip_filter|compute_gemm_pointers|im2(?:d2)?col|col2im",
    r"implicitgemmconvolution|::conv::|(?:^|::)convolution::|depthwise_?conv|conv_?depthwise"
    r"|conv2d_grouped|conv_fwd",
    r"cask_?\w*cudnn\w*::|cutlass_cudnn\w*::|cudnn::cnn::|cudnn_\w*cutlass",
)

FAMILY = Family(
    "convolution libraries",
    (
        *(
            "cudnn",
            "conv",
            "winograd",
            "fprop",
            "dgrad",
            "wgrad",
            "implicit",
            "fft1d_",
            "fft2d_",
            "im2col",
            "im2d2col",
            "col2im",
        ),
        *("igemm_", "miopen", "nchw", "nhwc", "bn_fw", "bn_bw", "flip_filter", "compute_gemm_pointers"),
        *("subtensorop", "dtensor", "batched_transpose", "naive_", "onednn", "dnnl", "pooling_", "sp3asm"),
        *("bwd_weight", "bwd_data", "mlopool"),
    ),
    (
        rule(
            "copy",
            r"nchw_?to_?nhwc|nhwc_?to_?nchw|transpose_\w*cn?hw|batched_transpose|tensortransform",
            r"n(?:chw|hwc)_?addpadding",
        ),
        rule(
            "normalisation",
            r"(?:^|::|_)bn_(?:fw|bw|inf)|miopen\w*(?:batch|layer|group|rms|t5layer)_?norm|batch_?norm",
        ),
        rule(
            "normalisation",
            r"cudnn\w*(?:layer|rms|instance|group)_?norm|(?:rms|layer|batch)norm_(?:fwd|bwd|fp|bp)",
        ),
        rule("attention", r"cudnn\w*(?:sdpa|fmha|flash|attention)", r"(?:sdpa|attention)\w*cudnn"),
        rule(
            "reduction",
            r"mlopool|miopen\w*(?:pool|softmax|reduce)",
            r"cudnn::ops::(?:pool|softmax)|(?:^|::)(?:pooling|softmax)_",
        ),
        rule(
            "elementwise",
            r"subtensorop|op[1-5]dtensor|scalepackedtensor|op_generic_tensor|(?:^|::)(?:add|mul|convert)tensor",
        ),
        rule(
            "elementwise",
            r"miopen\w*(?:neuron|activ)|(?:^|::)activation_(?:fw|bw)|cudnn::ops::(?:activ|add|elt)",
        ),
        rule("convolution", *_CUDNN_CONV),
        rule(
            "convolution",
            r"^igemm_|^miopen\w*(?:conv|cv(?:fwd|bwd)|sp3asm|winograd|igemm|gcn)|miopensp3|miopengcn|naive_\w*conv",
        ),
        rule(
            "convolution",
            r"kernel_\w*conv|devicegroupedconv|bwd_weight|bwd_data|grouped_conv|convolution(?:fwd|bwd)",
        ),
        # Kernels that convert types are none: `convert_fp8_kernel`, XLA's `loop_convert_fusion`.
        rule(
            "convolution",
            r"(?:^|[:_])(?:dw|depthwise|dil|deform|group)?conv(?!er[gst])(?:olution|olve)?(?:[123]d|\dx\d)?(?:_|$|[a-z])",
            r"gen_conv|conv_\w*kernel",
        ),
        rule("reduction", r"softmax|pool(?:ing)?_"),
        exact("convolution", r"^(?:gridwise_)?convolution_", r"^Conv_?[A-Z_]"),
    ),
)
