"""Fallback for kernels of no known library (user's own, Triton, XPU): plain words in the name."""

from __future__ import annotations

from stepscope.model.kernel_names.rules import Family, rule

FAMILY = Family(
    "plain words",
    (),
    (
        # Fusions of XLA are called by the operations in them.
        rule(
            "copy",
            r"^(?:loop|input|wrapped)_(?:(?:dynamic|update|slice|pad|reverse|bitcast|copy|transpose|concatenate)_?)+"
            r"(?:fusion)?(?:_\d+)?$",
        ),
        rule("attention", r"attention|(?:^|_)attn(?:_|$)|sdpa"),
        rule("convolution", r"convolution|(?:^|[_:])conv\d?d?(?:_|$)"),
        rule(
            "normalisation", r"(?:layer|batch|group|rms|instance)_?norm|normalization::|(?:^|_|::)(?:ln|rn)_(?:fwd|bwd)"
        ),
        rule(
            "gemm",
            r"mat_?mul|gemm|gemv|(?:^|[_:])b?mm(?:_|$|\d)|(?:^|_)linear_(?:kernel|fwd|bwd)|dot_product",
        ),
        rule("embedding", r"embedding|gather|scatter|index_?(?:select|put|add)|lookup|(?:^|_)[gs]et_rows"),
        rule(
            "reduction",
            r"soft_?max|reduc(?:e|tion)|cumsum|prefix_sum|arg_?max|arg_?min|arg_?sort|top_?k|(?:^|_)sort"
            r"|pool(?:ing)?(?:_|$|\d)",
        ),
        rule("reduction", r"cross_?entropy|(?:^|_)loss|histogram|(?:^|_)(?:sum|mean|norm|scan)(?:_|$)"),
        rule("optimizer", r"adamw?|(?:^|_)sgd(?:_|$)|optimizer"),
        rule(
            "copy",
            r"transpose|permute|(?:^|_)copy|(?<!zero)(?<!zero_)copy(?:_|$)|memset|memcpy|concat|(?:^|_)cat(?:_|$)|reorder"
            r"|repack|reformat|(?:^|_)cpy_|(?:shuffle|swapdimension\w*)intensor3",
        ),
        rule(
            "elementwise",
            r"elem(?:ent)?_?wise|elt_?wise|point_?wise|penalt(?:y|ies)|gated_(?:act|op)|gating|bin_bcast|softcap"
            r"|(?:^|[_:])(?:add|sub|mul|div|relu|gelu|silu|exp|tanh|sigmoid|fill|cast|scale|mask)"
            r"(?:_|$|\d)|swi_?glu|rotary|dropout|quant|bias|activation|vector_?add|saxpy|axpy|bernoulli"
            r"|random|(?:^|[_:])convert|^loop_\w*fusion|^wrapped_",
            # TensorFlow's, from Eigen and from its own compiler.
            r"eigenmetakernel|_gpu_dt_",
        ),
    ),
)
