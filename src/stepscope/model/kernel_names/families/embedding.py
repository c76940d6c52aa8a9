"""Embedding tables: FBGEMM's generated lookups and updates, and the permutations around them."""

from __future__ import annotations

from stepscope.model.kernel_names.rules import Family, rule

FAMILY = Family(
    "embedding tables",
    (
        *(
            "embed",
            "_emb",
            "recat",
            "bounds_check",
            "linearize_",
            "cache",
            "permute_",
            "fbgemm",
            "jagged",
            "segment",
            "wte_",
            "wpe_",
        ),
        *("compute_cuda_kernel", "dense_representation", "compute_grad_weight", "krn_partial"),
    ),
    (
        rule("elementwise", r"rotary_?(?:pos(?:ition)?_?)?emb|rope_?emb"),
        rule(
            "embedding",
            r"embedding|(?:^|_)(?:wte|wpe)_|(?:^|_)permute_pooled_embs|pooled_emb|recat_(?:copy|embedding)|embeddingbag",
        ),
        rule(
            "embedding",
            r"bounds_check_indices|linearize_(?:index|cache)|lxu_cache|lfu_cache|(?:permute_(?:1d|2d|ind))",
        ),
        rule(
            "embedding",
            r"fbgemm_gpu::[^ ]*(?:jagged|permute|offsets_range|segment|block_bucketize|expand_into|index)",
        ),
        rule("embedding", r"^compute_cuda_kernel$"),  # repeat_interleave's index
        rule(
            "embedding",
            r"to_dense_representation|jagged_(?:to|dense|index)|keyed_jagged|compute_grad_weight|krn_partial",
        ),
    ),
)
