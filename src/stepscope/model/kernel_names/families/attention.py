"""Fused attention: FlashAttention, cuDNN, memory-efficient, FlashInfer, paged, CK, AITER, Triton."""

from __future__ import annotations

from stepscope.model.kernel_names.rules import Family, exact, rule

FAMILY = Family(
    "attention",
    (
        *(
            "attention",
            "attn",
            "flash",
            "mha",
            "sdpa",
            "mla",
            "mqa",
            "gqa",
            "cache",
            "pagedkv",
            "kv_",
            "prefill",
        ),
        *(
            "decode",
            "fwd_kernel",
            "bwd_kernel",
            "grouped_kernel",
            "bwd_preprocess",
            "decode_att",
            "merge",
            "pa_",
        ),
        *("copy_blocks", "copy_page", "splitk_reduce"),
    ),
    (
        # Work on the key/value cache and on page tables, not attention itself.
        rule(
            "copy",
            r"reshape_and_cache",
            r"(?:store|write|append|copy|concat|set)_(?:\w+_)?kv_?(?:cache|buffer|pool)",
            r"copy_page_ind",
        ),
        rule(
            "copy",
            r"(?:append|copy)pagedkv|kv_indices",
            r"concat_and_cache",
            r"gather_cache",
            r"copy_blocks",
            r"convert_fp8_kv",
            r"concat_and_cast",
        ),
        rule(
            "attention",
            # FlashInfer's namespace covers sampling, norms and GEMMs as well.
            r"flash_?(?:fwd|bwd|attn|attention|mla|infer(?!::))|(?:^|::)(?:pytorch_)?flash::",
            # Triton's usual name of a tutorial's kernel; SGLang's and many others' attention is called so.
            r"^_?(?:fwd|bwd)_kernel(?:_\d+)?$|(?:^|::)mla_a\d+w\d+",
            r"(?:^|[:_\d])f?mha(?:_|[a-z]|sm|$)|fmha|fused_?attention|fmha",
            r"(?:^|_|::)(?:sdpa|unified_attention|paged_attention|attn_fwd|attn_bwd|mla_(?:decode|prefill|pfl|fwd|stage|reduce|metadata))",
            r"(?:^|_)(?:fwd|bwd)_kernel_(?:stage\d|dk_?dv|dq|grouped|fuse)"
            r"|(?:^|_)(?:fwd|bwd)_grouped_kernel_stage",
            r"bwd_preprocess|decode_att_m_fwd|attention_(?:2|3)d|_paged_mqa|mqa_logits|get_mla_metadata",
            r"attentionkernel|attentionbackwardkernel|efficient_attention|multiheadattn",
            r"(?:(?:batch|single)_?(?:prefill|decode)_?(?:with)?|podwith)\w*kv|batchmla|mergestates?kernel|merge_attn_states",
            r"variablelengthmergestates|(?:get|create)_num_kv_splits|(?:flash|fmha)_splitkv",
            r"attention_?(?:kernel|fwd|bwd|forward|backward)"
            r"|(?:kernel|fused|linear|lightning|ring)_?attention",
            r"(?:^|_)attn_(?:kernel|inner|stage)|gqa_decode",
            r"(?:^|[:_])pa_(?:decode|prefill|fwd|mqa|reduce|(?:b?f|fp|int)\d)",
            # Triton's split of keys over blocks in xFormers; that of GEMMs is spelled otherwise.
            r"^_?(?:fwd|bwd)_kernel_splitk|^_splitk_reduce$",
        ),
        exact(
            "attention",
            r"cudnn_generated_fort_native_sdpa",
            r"(?:^|_)mha_(?:fwd|bwd|varlen)",
            r"^mla_\w+_asm",
        ),
    ),
)
