"""Under which names files state a model's figures: this project's own, Hugging Face's, Megatron's and others'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.planning.family.hub import completed

#: Spellings of each figure, the own one first.
SPELLINGS: Final[dict[str, tuple[str, ...]]] = {
    "layers": ("layers", "num_hidden_layers", "num_layers", "n_layers", "n_layer"),
    "hidden": ("hidden", "hidden_size", "d_model", "n_embd", "n_embed", "dim"),
    "heads": ("heads", "num_attention_heads", "n_heads", "n_head", "attention_heads"),
    "kv_heads": (
        "kv_heads", "num_key_value_heads", "num_query_groups", "n_kv_heads", "num_kv_heads", "n_head_kv", "kv_n_heads",
        "multi_query_group_num",
    ),
    "head_dim": ("head_dim", "kv_channels", "attention_head_dim", "d_head"),
    "ffn": ("ffn", "intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner", "d_ff", "ffn_size"),
    "vocab": ("vocab", "vocab_size", "padded_vocab_size", "n_vocab"),
    "experts": ("experts", "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    "active_experts": (
        "active_experts", "top_k", "experts_per_token", "num_experts_per_tok", "moe_router_topk", "moe_top_k",
        "num_experts_per_token",
    ),
    "expert_ffn": ("expert_ffn", "moe_intermediate_size", "moe_ffn_hidden_size", "moe_ffn", "expert_hidden"),
    "shared_ffn": ("shared_ffn", "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"),
    "shared_experts": ("shared_experts", "n_shared_experts", "num_shared_experts"),
    "routed_groups": ("routed_groups", "topk_group", "moe_router_group_topk"),
    "expert_groups": ("expert_groups", "n_group", "moe_router_num_groups"),
    "dense_layers": ("dense_layers", "first_k_dense_replace"),
    "positions": ("positions", "n_positions", "max_position_embeddings"),
    "tied": ("tied", "tie_word_embeddings", "tied_embeddings", "tie_embeddings", "share_embeddings"),
    "gated": ("gated", "swiglu", "gated_mlp", "glu"),
    "biases": ("biases", "bias", "use_bias", "add_bias_linear"),
    "dropout": ("dropout", "hidden_dropout", "hidden_dropout_prob", "resid_pdrop"),
    "activation": ("activation", "hidden_act", "hidden_activation", "activation_function"),
    "normalization": ("normalization", "norm", "norm_type"),
    "window": ("window", "sliding_window"),
    "windowed_layers": ("windowed_layers",),
    "rotary": ("rotary",),
    "fused_loss": ("fused_loss",),
    "q_lora_rank": ("q_lora_rank", "query_rank"),
    "kv_lora_rank": ("kv_lora_rank", "kv_rank"),
    "qk_nope_head_dim": ("qk_nope_head_dim", "qk_head_dim"),
    "qk_rope_head_dim": ("qk_rope_head_dim", "qk_pos_emb_head_dim"),
    "v_head_dim": ("v_head_dim",),
    "parameters": ("parameters", "params", "n_params", "num_params", "params_b", "parameters_b"),
    "family": ("family", "model_type", "architecture"),
    "name": ("name", "model", "preset", "_name_or_path", "model_name"),
}  # fmt: skip
_FLAGS: Final = {"tied", "gated", "biases", "dropout", "rotary", "fused_loss"}
#: No model has more; a search over what divides them would not end.
_MOST: Final = {"layers": 10_000, "experts": 100_000, "heads": 1_000_000, "parameters": 10**18}
_MOST_ELSE: Final = 10**9
_TEXTS: Final = {"activation", "normalization", "family", "name"}


def stated(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a file states, under the own names; null counts as not stated.

    Raises:
        UserError: A figure is no number, or below zero.
    """
    inner = document.get("text_config") or document.get("language_config") or document.get("model_config") or {}
    every = {**document, **inner} if isinstance(inner, Mapping) else dict(document)
    attention = every.get("attn_config")
    if isinstance(attention, Mapping):
        every = {**attention, **every}
    every = completed(every)
    found = {}
    for name, spellings in SPELLINGS.items():
        value = next((every[one] for one in spellings if every.get(one) is not None), None)
        if value is not None:
            found[name] = _figure(name, value)
    if "expansion_ratio" in every and "ffn" not in found and "hidden" in found:
        found["ffn"] = int(found["hidden"] * _figure("expansion_ratio", every["expansion_ratio"]))
    if "parameters" in found and found["parameters"] < 1e5:
        found["parameters"] *= 1e9  # stated in billions
    return found


def _figure(name: str, value: Any) -> Any:
    if name in _TEXTS:
        return str(value)
    if name in _FLAGS:
        if name == "dropout" and isinstance(value, int | float):
            return value > 0
        return value.strip().lower() in ("true", "yes", "1") if isinstance(value, str) else bool(value)
    if isinstance(value, list) and value:
        value = max(value)  # one per layer
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value < 0:
        raise UserError(said("the model's {name} is {value!r}", name=name, value=value), hint="give a number")
    if value > (most := _MOST.get(name, _MOST_ELSE)):
        raise UserError(
            said("the model's {name} is {value:g}", name=name, value=value),
            hint=said("give a number of at most {most:,}", most=most),
        )
    return value if name in ("parameters", "expansion_ratio") else int(value)
