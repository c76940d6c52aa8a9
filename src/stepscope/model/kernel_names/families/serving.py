"""Kernels of serving engines: vLLM, SGLang, TensorRT-LLM, FlashInfer, AITER, and of mixtures of experts."""

from __future__ import annotations

from stepscope.model.kernel_names.rules import Family, rule

FAMILY = Family(
    "serving engines",
    (),
    (
        rule("normalisation", r"(?:rms|layer|group|qk|l2)_?norm|(?:add|fused)_?rms|rmsnorm|rmsnorm|layernorm"),
        rule(
            "elementwise",
            r"rotary|(?:^|_|::)m?rope(?:_|$|[a-z])|batchqkapplyrotary|applyrotary|apply_rope|kn_entry_\dc",
        ),
        rule(
            "elementwise",
            r"(?:silu|gelu|swi_?glu|act|activation)_and_mul|act_(?:and_)?mul|swi_?glu|geglu|relu2",
        ),
        rule(
            "reduction",
            r"top_?k|top_?p|min_?p|sampling|sample_|argmax|softmax|moe_?(?:align|sum|sort)"
            r"|biased_grouped_topk",
        ),
        rule(
            "reduction",
            r"moe::[^ ]*(?:routing|finalize)|expert_?(?:prefix|histogram|offsets)|fused_?gate"
            r"|topkgating|bitmatrix",
        ),
        rule(
            "reduction",
            r"(?:^|_)routing|cross_?entropy|count_and_sort|sort_tokens|moe_?(?:permute|unpermute)|cumsum",
        ),
        rule(
            "elementwise",
            r"quant|fp8_(?:cast|scale)|dequant|(?:^|_)cast_|expand_input_rows|doactivation|finalizemoe",
        ),
        rule("embedding", r"gather|scatter|embedding|index_select|resolve_future_token_ids|token_ids_map"),
        rule("reduction", r"causal_conv1d_update_metadata"),
        rule("convolution", r"causal_conv1d|conv1d|shortconv|ssm_conv"),
        rule(
            "attention",
            r"selective_(?:scan|state)|ssm|mamba|chunk_(?:fwd|bwd|scan|state|gated)|gated_delta|delta_rule|state_passing"
            r"|recurrent_(?:fwd|gated)|wkv",
            # Linear attention: `chunk_gla_fwd_kernel_o`, the inverses and multiplications between its chunks.
            r"(?:^|_)(?:chunk|recurrent)_\w+_(?:fwd|bwd)_|nsa_(?:fwd|bwd)|retention_|(?:^|_)recompute_w_u|_kkt_|wy_repr|solve_tril"
            r"|merge_\d+x\d+_to_\d+x\d+_inverse",
        ),
        rule(
            "optimizer",
            r"adam|(?:^|_)sgd(?:_|$)|adagrad|lamb_stage|adafactor|shampoo|(?:^|_)muon|newton_schulz",
        ),
        rule("copy", r"swap_blocks|kv_?cache|copy_|(?:^|_)(?:pack|unpack)_seq|transfer_kv|cp_gather"),
    ),
)
