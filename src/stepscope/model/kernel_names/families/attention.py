"""Fused attention: FlashAttention 1-3, cuDNN, memory-efficient, FlashInfer, paged, Composable Kernel, AITER, Triton."""

from __future__ import annotations

from stepscope.model.kernel_names.rules import Family, exact, rule

FAMILY = Family(
    "attention",
    None,
    (
        # Work on the key/value cache and on page tables, not attention itself.
        rule("copy", r"reshape_and_cache", r"(?:store|write|append|copy|concat|set)_(?:\w+_)?kv_?cache", r"copy_page_ind"),
        rule("copy", r"(?:Append|Copy)PagedKV", r"concat_and_cache", r"gather_cache", r"copy_blocks", r"convert_fp8_kv"),
        rule(
            "attention",
            r"flash_?(?:fwd|bwd|attn|attention|mla|infer)|(?:^|::)(?:pytorch_)?flash::",
            r"(?:^|[:_\d])f?mha(?:_|[A-Z]|Sm|$)|Fmha|fused_?attention|FMHA",
            r"(?:^|_|::)(?:sdpa|unified_attention|paged_attention|attn_fwd|attn_bwd|mla_(?:decode|prefill|fwd|stage))",
            r"(?:^|_)(?:fwd|bwd)_kernel_(?:stage\d|dk_?dv|dq|grouped)|(?:^|_)(?:fwd|bwd)_grouped_kernel_stage",
            r"bwd_preprocess|decode_att_m_fwd|attention_(?:2|3)d|_paged_mqa|mqa_logits",
            r"AttentionKernel|AttentionBackwardKernel|efficient_attention|MultiHeadAttn",
            r"(?:Batch|Single)(?:Prefill|Decode)With\w*KV|BatchMLA|MergeStates?Kernel|merge_attn_states",
            r"VariableLengthMergeStates|flashinfer_kv_indices|(?:get|create)_num_kv_splits|(?:flash|fmha)_splitkv",
            r"attention_?(?:kernel|fwd|bwd|forward|backward)|(?:kernel|fused|linear|lightning|ring)_?attention",
            r"(?:^|_)attn_(?:kernel|inner|stage)|(?:^|_)pa_(?:decode|prefill|fwd|mqa|reduce)|gqa_decode",
        ),
        exact("attention", r"cudnn_generated_fort_native_sdpa", r"(?:^|_)mha_(?:fwd|bwd|varlen)", r"^mla_\w+_asm"),
    ),
)
