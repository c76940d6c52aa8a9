"""PyTorch's own kernels (`at::native::...`), cub, Thrust, rocPRIM, Apex, XPU, by their outer name."""

from __future__ import annotations

import re

from stepscope.model.kernel_names.kinds import OpClass
from stepscope.model.kernel_names.parse import KernelName
from stepscope.model.kernel_names.rules import NameRule, exact, first, rule

_FOREACH = re.compile(r"multi_?tensor|foreach", re.IGNORECASE)
_FOREACH_NORM = re.compile(r"L2Norm|LpNorm|LpMax|MaxNorm|Norm(?:Functor|Kernel|Ops)")
_FOREACH_COPY = re.compile(r"(?:^|[^a-z])Copy|CopyFunctor|MemcpyFunctor")
_FUNCTOR = 700

_RULES: tuple[NameRule, ...] = (
    rule(
        "optimizer",
        r"fused_?(?:adam|sgd|adagrad|lamb|lion|rmsprop)|adam_(?:kernel|step|update)|(?:adam|sgd|lamb)_?cuda",
    ),
    rule(
        "optimizer",
        r"distributed_fused|amp_(?:non_finite|update_scale|foreach)|(?:^|_)adam(?:w)?(?:_|$)|sgd_update|muon",
    ),
    rule(
        "normalisation",
        r"(?:layer|batch|group|instance|rms|weight|sync_?b)_?norm|rowwisemoments|gammabeta(?:backward)?",
        r"(?:^|::)computeinternalgradients|computefusedparams|computebackwardfused|groupnorm1d"
        r"|ln_(?:fwd|bwd|parallel)",
        r"cucomputegradinput|cucomputepartgradgammabeta|cuapply(?:layer|rms)|cucompute\w*gamma"
        r"|welford|rmsnorm",
        r"qk_?norm|l2norm(?:_fwd|_bwd)?|rmsnorm|layernorm",
    ),
    rule(
        "embedding",
        r"vectorized_gather|index_elementwise|indexselect|indexfunc|scatter_gather"
        r"|indexing_backward|index_(?:put|add|copy)",
        r"embedding_|embeddingbag|compute_grad_weight|sum_and_scatter|krn_partials"
        r"|(?:^|_)gather(?:_|$)|scatter_?(?:add|kern)",
        r"masked_scatter|take_(?:put|kernel)|index_(?:select|fill|kernel)"
        r"|(?:^|::)index_?(?:ing)?_?(?:kernel|backward)",
    ),
    rule(
        "copy",
        r"catarray|(?:^|_)cat_kernel|split_with_sizes|chunk_cat"
        r"|transpose_?(?:kernel|readwrite|\d|_)|copy_?(?:kernel|buffer)",
        r"(?:^|::)(?:triu_tril|roll|flip|repeat_interleave|reflection_pad|replication_pad|pad_kernel)|permute_?(?:kernel|\d)",
        r"(?:copy|cat|transpose|permute)\w*(?:kernel|functor)$",
        r"contiguous|batched_copy|memcpy|memset|(?:^|::)tensor_?copy",
    ),
    rule(
        "elementwise",
        r"elementwise",
        r"fused_dropout|dropout|masked_scale|distribution_|philox|curand|random_kernel",
    ),
    rule(
        "reduction",
        r"reduce|softmax|argm(?:ax|in)|arg_?m(?:ax|in)|(?:max|avg|average|adaptive\w*)_?pool"
        r"|upsample_\w+_backward",
        r"nll_loss|nllcriterion|cross_?entropy|ctc_loss|_loss(?:_|$)|cross_kernel|logsumexp|welford"
        r"|(?:^|_)norm_kernel",
        r"radix|sort|topk|kthvalue|(?:^|_)mode_|bitonic|scan|cumsum|cumprod|cumulative",
        r"histogram|bincount|unique|compact|(?:device)?select(?:sweep|if)|nonzero|searchsorted"
        r"|multinomial|(?:^|_)sum_",
        r"devicereduce|reducebykey|runlength|mergesort|merge_sort|partition|(?:^|_)mean_|sampling|find_bound",
    ),
    rule(
        "elementwise",
        r"fill|bernoulli|arange|range_kernel|linspace|upsample|interpolate|grid_sampl|prelu|gelu"
        r"|relu|silu|swiglu|glu_|tanh",
        r"sigmoid|clamp|where|pow_|addcmul|addcdiv|lerp|bias_(?:act|add|gelu|dropout)"
        r"|(?:^|_)(?:add|sub|mul|div)_",
        r"cast|quant(?:ize)?|(?:^|_)(?:to_)?(?:fp8|float8|hfp8|bf16|fp16)_|fp8|triu|tril",
        r"foreach|for_each|parallel_for|transform|(?:^|::)apply(?:\d|_)|pointwise|ternary|binary|unary|loops",
    ),
    exact("copy", r"(?:^|::)(?:Copy|Memcpy|Memset)"),
)
_KNOWN = re.compile(
    r"(?:^|::)(?:at|at_cuda_detail|c10|torch|cub|hipcub|thrust|rocprim|apex|xpu|sycl|caffe2|cunn|fbgemm\w*)(?:::|_)"
    r"|^\(anonymous namespace\)|^<unnamed>|^cunn_|(?:^|_)multi_tensor|(?:^|::|_)foreach|apply_kernel"
)


def op_class(name: KernelName) -> OpClass | None:
    """The class of a kernel of PyTorch or of the primitives it is built on; None for any other name."""
    path = name.path
    if not _KNOWN.search(path):
        return None
    if _FOREACH.search(name.base):
        return _foreach(name.args[:_FUNCTOR])
    return first(_RULES, path, name.folded)


def _foreach(arguments: str) -> OpClass:
    """A list-of-tensors kernel is the optimizer's, except for gradient norms and plain copies."""
    if _FOREACH_NORM.search(arguments):
        return "reduction"
    if _FOREACH_COPY.search(arguments):
        return "copy"
    return "optimizer"
