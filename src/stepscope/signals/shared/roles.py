"""The role of an operator or kernel in a computation as one letter, so that sequences become strings.

A written-out RMS normalisation is `cWMaQmcm`: cast, square, mean, add, root, multiply, cast, multiply. Patterns over
such strings are regular expressions; see `stepscope.signals.shared.patterns`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from stepscope.language import said
from stepscope.model.kernel_names.function import function, normal

#: Anything that no pattern knows; it ends every sequence.
OTHER: Final = "#"
#: Between the last operation of one queue and the first of the next.
BOUNDARY: Final = "\n"

#: Letter, what it stands for, and the words of PyTorch, its kernels and Ascend for it.
_WORDS: Final = (
    ("P", said("matrix multiplication"),
     "mm bmm addmm baddbmm addmv mv dot einsum matmul batchmatmul linear gemm scaledmm"),
    ("C", said("convolution"),
     "convolution cudnnconvolution miopenconvolution thnnconv2d mkldnnconvolution conv2d conv1d "
     "conv3d convolutionbackward npuconv2d convolutionoverrideable"),
    ("F", said("fused attention"), "scaleddotproductattention scaleddotproductflashattention flashattentionforward "
     "scaleddotproductefficientattention efficientattentionforward scaleddotproductcudnnattention "
     "scaleddotproductflashattentionforcpu flashattnforward npufusionattention flashattentionscore"),
    ("S", said("softmax"), "softmax scaledmaskedsoftmax maskedsoftmax safesoftmax"),
    ("T", said("backward of a softmax"), "softmaxbackwarddata softmaxbackward softmaxgrad"),
    ("L", said("logarithm of a softmax"), "logsoftmax"),
    ("J", said("backward of it"), "logsoftmaxbackwarddata logsoftmaxbackward logsoftmaxgrad"),
    ("N", said("loss"),
     "nllloss nlllossforward nlllossnd nlllossbackward crossentropyloss nlllossgrad nllloss2dforward "
     "cunnclassnllcriterionupdateoutput mseloss mselossbackward"),
    ("E", said("exponential"), "exp exp2 expm1"),
    ("G", said("logarithm"), "log log2 log1p"),
    ("W", said("power"), "pow square pows"),
    ("Q", said("root"), "rsqrt sqrt"),
    ("M", said("mean"), "mean reducemean"),
    ("U", said("sum"), "sum reducesum logsumexp"),
    ("X", said("maximum"), "max amax maxnan reducemax maxdim"),
    ("v", said("variance"), "var std varmean stdmean"),
    ("a", said("addition"), "add adds rsub sub subs axpy"),
    ("m", said("multiplication"), "mul muls mulscalar"),
    ("d", said("division"), "div divs realdiv reciprocal truedivide divide divtrunc"),
    ("c", said("copy or cast"), "copy cast directcopy bfloat16copy float16copy bfloat16tofloat32copy clone contiguous "
     "tensormove tocopy float8copy"),
    ("n", said("negation"), "neg"),
    ("k", said("concatenation"), "cat concat concatd catarraybatchedcopy catarraybatchedcopyvectorized "
     "catarraybatchedcopycontig catarraybatchedcopyaligned16contig catarraybatchedcopyalignedk16contig stack"),
    ("t", said("part of an activation"), "tanh erf sigmoid tanhshrink softplus logsigmoidforward"),
    ("A", said("activation"),
     "gelu silu relu leakyrelu elu hardswish hardsigmoid mish selu clampmin threshold launchclamp "
     "clampminscalar swish fastgelu geluv clampscalar"),
    ("B", said("backward of an activation"), "gelubackward silubackward tanhbackward sigmoidbackward thresholdbackward "
     "leakyrelubackward elubackward hardswishbackward mishbackward softplusbackward gelugrad tanhgrad siligrad "
     "sigmoidgrad relugrad geluv2grad"),
    ("w", said("choice by a mask"), "where maskedfill compare compareeq comparescalar eq ne lt le gt ge "
     "tril triu logicaland logicalor logicalnot"),
    ("D", said("dropout"), "nativedropout nativedropoutbackward dropout fuseddropout fuseddropoutkernelvec maskedscale "
     "bernoulli dropoutdomask"),
    ("f", said("fill"), "fill zero zeroslike oneslike arange full zeros ones"),
    ("g", said("lookup"), "gather index indexselect embedding scatter scatteradd"),
    ("o", said("update of a parameter"), "addcmul addcdiv lerp fusedadam fusedadamw fusedsgd applyadamw"),
    ("p", said("other pointwise function"), "abs sin cos clamp maximum minimum sign round floor ceil logit nantonum "
     "bitwiseand bitwiseor bitwisenot isnan isinf isfinite atan"),
)  # fmt: skip

#: What each letter stands for.
ROLE_NAMES: Final = MappingProxyType({letter: name for letter, name, _ in _WORDS})
_LETTERS: Final = MappingProxyType({word: letter for letter, _, words in _WORDS for word in words.split()})
#: Words that are views as operators, and work only as kernels.
_KERNELS: Final = MappingProxyType({"select": "w", "selectkernel": "w", "transpose": "c"})
#: What a kernel's class says where its function is not known.
_CLASSES: Final = MappingProxyType({"gemm": "P", "convolution": "C", "attention": "F", "optimizer": "o"})
#: Letters of functions that compute each element of their result from one element of each operand.
POINTWISE: Final = "EGWQamdcntABwDfp"
_BACKWARD: Final = re.compile(r"(?:backward|grad)\d?$")
_NAMESPACE: Final = re.compile(r"^(?:aten|npu|torch_npu)::_?")


@lru_cache(maxsize=65_536)
def role_of_operator(name: str) -> str:
    """The letter of an operator, `OTHER` where its name is unknown."""
    found = _NAMESPACE.match(name)
    if found is None:
        return OTHER
    word = name[found.end() :].split(".", 1)[0]
    return "o" if word.startswith("foreach_") else _role(normal(word))


@lru_cache(maxsize=65_536)
def role_of_kernel(name: str, op_class: str) -> str:
    """The letter of a kernel: of the function that it applies, else of its class."""
    if op_class in _CLASSES:
        return _CLASSES[op_class]
    word = function(name)
    return _KERNELS.get(word) or _role(word)


def _role(word: str) -> str:
    """The letter of a function. Backwards of pointwise functions count as pointwise: they multiply gradients."""
    if word in _LETTERS:
        return _LETTERS[word]
    forward = _LETTERS.get(_BACKWARD.sub("", word), OTHER)
    if forward in "At":
        return "B"
    return "m" if forward in POINTWISE else OTHER
