"""Ascend operator names: op types (`MatMulV2`) and kernel names (`aclnnAddmm_MatMulCommon_MatMulV2`).

A kernel name ends in its op type, perhaps with a counter (`Conv2D1`, `trans_TransData_0`). Short names that
any library could use (`Add`, `Exp`) have to match as a whole.
"""

from __future__ import annotations

import re

from stepscope.model.kernel_names.kinds import OpClass
from stepscope.model.kernel_names.parse import KernelName
from stepscope.model.kernel_names.rules import NameRule, exact, first

_COUNTER = re.compile(r"(?:_\d+)+$")
_END = r"(?:V\d|D|Ext\d?|Grad|AiCore|Aicpu|Custom)*\d*$"

_RULES: tuple[NameRule, ...] = (
    exact(
        "copy",
        r"^(?:MemSet|TransData|Transpose(?!\w*Mat[Mm]ul)|TensorMove|AsStrided|StridedSlice|Slice|Concat|Split|Pack|Unpack)",
    ),
    exact(
        "copy",
        r"^(?:ViewCopy|MemCpy|Memcpy|Tile|BroadcastTo|Pad(?!ding)|Identity|ReshapeAndCache|ScatterPaKvCache)",
    ),
    exact(
        "optimizer",
        r"^(?:Fused)?Apply(?:Fused|Adam|Ada|RMSProp|Momentum|Lamb|Gradient|Ftrl|Keras|Centered|Cam)",
    ),
    exact("optimizer", r"^(?:FusedAdam|AdamApply|LambNext|LambApply|Sgd|SGD|FusedEma)", r"^EmaAdam"),
    exact("reduction", r"^Foreach(?:Norm|Reduce)"),
    exact("copy", r"^ForeachCopy"),
    exact("optimizer", r"^Foreach[A-Z]"),
    exact(
        "attention",
        r"Attention",
        r"^(?:PagedAtt|MultiHeadAtt|Mla[A-Z]|RingMLA|LightningIndexer|NsaCompress|NsaSelected)",
        r"^KvQuantSparse|GatedDelta|SelectiveScan",
    ),
    exact("convolution", r"^(?:Depthwise|Quant|Extend|Deformable)?Conv(?:\dD|olution|Transpose|2d|3d)"),
    exact(
        "normalisation",
        r"^(?:\w{0,24}?)(?:LayerNorm|BatchNorm|GroupNorm|InstanceNorm|RmsNorm|DeepNorm|BNTraining|BNInfer|BN3D)",
        r"^(?:Bn(?:Training|Infer)|SyncBatchNorm|LpNormUpdate|L2Normalize|AdaLayer)",
    ),
    exact(
        "embedding",
        r"^Embedding",
        r"^(?:Gather|Scatter|Index|Take|OneHot|LinearIndex|UnsortedSegment)(?![a-z]{4})",
    ),
    exact("gemm", r"(?:Mat[Mm]ul|MatMul|Matmul|Gemm|GMM)", r"^(?:Mm|Bmm|Addmm|Baddbmm|Dot|Linear|Einsum)" + _END),
    exact(
        "reduction",
        r"^(?:Reduce|ArgMax|ArgMin|Cum(?:sum|prod|max|min)|TopK|Sort|LpNorm(?!Update)|BiasAddGrad|Norm\d?$|SquareSumV)",
        r"^(?:NLLLoss|CrossEntropy|SmoothL1Loss|MseLoss|KLDiv|SparseSoftmax|SoftmaxCross|\w{0,24}Softmax)",
        r"^(?:MaxPool|AvgPool|AdaptiveAvgPool|AdaptiveMaxPool|NonZero|Unique|Histogram|Bincount|MoeGatingTopK|Multinomial)",
        r"^(?:Moe\w{0,24}Routing|MoeTokenUnpermute|MoeTokenPermute|MoeComputeExpert|BincountD)",
    ),
    exact(
        "elementwise",
        r"^(?:Add|Adds|Axpy|Sub|Mul|Muls|Div|RealDiv|FloorDiv|FloorMod|Mod|Neg|Abs|Sign|Exp|Expm1|Log|Log1p|Pow|Pows)"
        + _END,
        r"^(?:Sqrt|Rsqrt|Square|Reciprocal|Sin|Cos|Tanh|Sigmoid|Erf|Floor|Ceil|Round|Trunc|Maximum|Minimum|Clip\w*)"
        + _END,
        r"^(?:Cast|Fill|ZerosLike|OnesLike|Range|Arange|Select|SelectV2|MaskedFill|Tril|Triu|IsFinite|IsNan|IsInf)"
        + _END,
        r"^(?:Equal|NotEqual|Greater|GreaterEqual|Less|LessEqual|LogicalAnd|LogicalOr|LogicalNot|Bitwise\w+)" + _END,
        r"^(?:Relu|ReLU|ReLU6|LeakyRelu|Gelu|GeLU|FastGelu|FastGeLU|Silu|SiLU|Swish|SwiGlu|GeGlu|Softplus|Elu|Hard\w+|Threshold|PRelu|Mish)"
        + _END,
        r"^(?:Addcmul|Addcdiv|Lerp|SquaredDifference|BiasAdd|MaskedScale|ScaledMasked\w+|NanToNum)" + _END,
        r"^(?:DropOut|Dropout|StatelessDropOut|StatelessRandom|Random|DSA)\w*$",
        r"^(?:RotaryPositionEmbedding|RotaryMul|ApplyRotaryPos\w*|InterleaveRope|KvRmsNormRope\w*|Rope\w*)" + _END,
        r"^(?:AscendQuant|AscendDequant|AscendAntiQuant|DynamicQuant|Quantize|DequantSwiglu|DequantSwigluQuant)" + _END,
    ),
)
_ROTARY = re.compile(r"^(?:RotaryPositionEmbedding|RotaryMul|ApplyRotaryPos|InterleaveRope|Rope)")
_AICPU = re.compile(r"^(?:aicpu_|AICPU_|Aicpu)")


def op_type(name: KernelName) -> str:
    """The op type at the end of an Ascend kernel name: `MatMulV2` for `aclnnMm_MatMulCommon_MatMulV2`."""
    # "StatelessDropOutGenMask23/DSASTATELESSGENBITMASK": op, then the engine's task.
    plain = _COUNTER.sub("", name.path.split("/", 1)[0].rsplit(":", 1)[-1])
    return _AICPU.sub("", plain).rsplit("_", 1)[-1]


def op_class(name: KernelName) -> OpClass | None:
    """The class of an Ascend operator, or None if the name is not one."""
    if name.cxx or "::" in name.path:
        return None
    kind = op_type(name)
    if not kind[:1].isupper():
        return None
    if _ROTARY.match(kind):
        return "elementwise"
    return first(_RULES, kind, kind)
