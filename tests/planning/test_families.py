"""Configurations of many families as their `config.json` state them, against published numbers of parameters.

Each has the fields that Hugging Face's configuration class of the family writes and the count depends on.
"""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.model.errors import UserError
from stepscope.planning.family.counts import parameters
from stepscope.planning.family.reading import read_model


def decoder(
    kind: str, hidden: int, layers: int, heads: int, kv: int | None, ffn: int, vocab: int, tied: bool, **more: Any
) -> dict[str, Any]:
    """The fields that most families share."""
    grouped = {} if kv is None else {"num_key_value_heads": kv}
    return {
        "model_type": kind, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, **grouped,
        "intermediate_size": ffn, "vocab_size": vocab, "tie_word_embeddings": tied, **more,
    }  # fmt: skip


SILU: dict[str, Any] = {"hidden_act": "silu"}
#: Name, configuration and published number of parameters, in millions.
FAMILIES: list[tuple[str, dict[str, Any], float]] = [
    ("Llama 3.1 8B", decoder("llama", 4096, 32, 32, 8, 14336, 128256, False, attention_bias=False, **SILU), 8030.3),
    ("Llama 3.2 1B", decoder("llama", 2048, 16, 32, 8, 8192, 128256, True, head_dim=64, **SILU), 1235.8),
    ("Qwen2.5 7B", decoder("qwen2", 3584, 28, 28, 4, 18944, 152064, False, sliding_window=131072,
                           use_sliding_window=False, max_window_layers=28, **SILU), 7615.6),
    ("Qwen2.5 0.5B", decoder("qwen2", 896, 24, 14, 2, 4864, 151936, True, **SILU), 494.0),
    ("Qwen3 8B", decoder("qwen3", 4096, 36, 32, 8, 12288, 151936, False, head_dim=128, **SILU), 8190.7),
    ("Qwen3 0.6B", decoder("qwen3", 1024, 28, 16, 8, 3072, 151936, True, head_dim=128, **SILU), 596.0),
    ("Qwen3 30B A3B", decoder("qwen3_moe", 2048, 48, 32, 4, 6144, 151936, False, head_dim=128, num_experts=128,
                              num_experts_per_tok=8, moe_intermediate_size=768, decoder_sparse_step=1,
                              mlp_only_layers=[], **SILU), 30532.1),
    ("Qwen1.5 MoE A2.7B", decoder("qwen2_moe", 2048, 24, 16, 16, 5632, 151936, False, num_experts=60,
                                  num_experts_per_tok=4, moe_intermediate_size=1408,
                                  shared_expert_intermediate_size=5632, decoder_sparse_step=1, **SILU), 14315.8),
    ("Mistral 7B v0.1", decoder("mistral", 4096, 32, 32, 8, 14336, 32000, False, sliding_window=4096, **SILU), 7241.7),
    ("Mixtral 8x7B", decoder("mixtral", 4096, 32, 32, 8, 14336, 32000, False, num_local_experts=8,
                             num_experts_per_tok=2, sliding_window=None, **SILU), 46702.8),
    ("DeepSeek V2 Lite", decoder("deepseek_v2", 2048, 27, 16, 16, 10944, 102400, False, n_routed_experts=64,
                                 n_shared_experts=2, num_experts_per_tok=6, moe_intermediate_size=1408,
                                 first_k_dense_replace=1, kv_lora_rank=512, q_lora_rank=None, qk_nope_head_dim=128,
                                 qk_rope_head_dim=64, v_head_dim=128, moe_layer_freq=1, **SILU), 15706.5),
    ("DeepSeek V3", decoder("deepseek_v3", 7168, 61, 128, 128, 18432, 129280, False, n_routed_experts=256,
                            n_shared_experts=1, num_experts_per_tok=8, moe_intermediate_size=2048,
                            first_k_dense_replace=3, kv_lora_rank=512, q_lora_rank=1536, qk_nope_head_dim=128,
                            qk_rope_head_dim=64, v_head_dim=128, moe_layer_freq=1, num_nextn_predict_layers=1,
                            **SILU), 671026.0),
    ("Gemma 2B", decoder("gemma", 2048, 18, 8, 1, 16384, 256000, True, head_dim=256, hidden_act="gelu"), 2506.2),
    ("Gemma 2 9B", decoder("gemma2", 3584, 42, 16, 8, 14336, 256000, True, head_dim=256, sliding_window=4096,
                           hidden_activation="gelu_pytorch_tanh"), 9241.7),
    ("Phi-2", decoder("phi", 2560, 32, 32, 32, 10240, 51200, False, hidden_act="gelu_new"), 2779.7),
    ("Phi-3 mini", decoder("phi3", 3072, 32, 32, 32, 8192, 32064, False, sliding_window=2047, **SILU), 3821.1),
    ("Falcon 7B", {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
                   "multi_query": True, "new_decoder_architecture": False, "bias": False, "alibi": False,
                   "parallel_attn": True, "vocab_size": 65024}, 6921.7),
    ("Falcon 40B", {"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128,
                    "num_kv_heads": 8, "multi_query": True, "new_decoder_architecture": True, "bias": False,
                    "alibi": False, "vocab_size": 65024}, 41303.3),
    ("GPT-2", {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "n_ctx": 1024,
               "vocab_size": 50257, "n_inner": None, "activation_function": "gelu_new"}, 124.4),
    ("GPT-NeoX 20B", decoder("gpt_neox", 6144, 44, 64, None, 24576, 50432, False, hidden_act="gelu_fast",
                             max_position_embeddings=2048, rotary_pct=0.25), 20554.6),
    ("Pythia 1.4B", decoder("gpt_neox", 2048, 24, 16, None, 8192, 50304, False, hidden_act="gelu",
                            max_position_embeddings=2048, rotary_pct=0.25), 1414.6),
    ("GPT-J 6B", {"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_positions": 2048,
                  "rotary_dim": 64, "vocab_size": 50400, "n_inner": None, "activation_function": "gelu_new",
                  "tie_word_embeddings": False}, 6050.9),
    ("BLOOM 7B1", {"model_type": "bloom", "n_embed": 4096, "hidden_size": 4096, "n_layer": 30, "n_head": 32,
                   "num_attention_heads": 32, "vocab_size": 250880}, 7069.0),
    ("OPT 1.3B", {"model_type": "opt", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32,
                  "ffn_dim": 8192, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 2048,
                  "activation_function": "relu"}, 1315.8),
    ("BERT base", {"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                   "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512,
                   "type_vocab_size": 2, "hidden_act": "gelu"}, 109.5),
    ("gpt-oss 20B", decoder("gpt_oss", 2880, 24, 64, 8, 2880, 201088, False, head_dim=64, num_local_experts=32,
                            num_experts_per_tok=4, sliding_window=128, attention_bias=True, **SILU), 20914.8),
    ("GLM-4 9B", decoder("glm4", 4096, 40, 32, 2, 13696, 151552, False, head_dim=128, attention_bias=False,
                         **SILU), 9400.3),
    ("Nemotron 4 15B", decoder("nemotron", 6144, 32, 48, 8, 24576, 256000, False, hidden_act="relu2",
                               norm_eps=1e-5), 15640.0),
    ("StarCoder2 3B", decoder("starcoder2", 3072, 30, 24, 2, 12288, 49152, True, use_bias=True,
                              hidden_act="gelu_pytorch_tanh", sliding_window=4096), 3030.4),
    ("OLMo 2 7B", decoder("olmo2", 4096, 32, 32, 32, 11008, 100352, False, **SILU), 7298.6),
    ("Command R v01 35B", decoder("cohere", 8192, 40, 64, 64, 22528, 256000, True, **SILU), 34980.8),
    ("MPT 7B", {"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32, "expansion_ratio": 4,
                "vocab_size": 50432, "no_bias": True, "max_seq_len": 2048,
                "attn_config": {"alibi": True, "attn_type": "multihead_attention"}}, 6649.3),
    ("Gemma 2B, as written", {key: value for key, value in decoder(
        "gemma", 2048, 18, 8, 1, 16384, 256000, True, head_dim=256, hidden_act="gelu").items()
        if key != "tie_word_embeddings"}, 2506.2),
    ("BLOOM 176B, as written", {"model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112,
                                "vocab_size": 250880, "attention_softmax_in_fp32": True}, 176247.3),
    ("StarCoder 15B", {"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576,
                       "n_positions": 8192, "vocab_size": 49152, "multi_query": True,
                       "activation_function": "gelu"}, 15517.0),
    ("Qwen2 57B A14B", decoder("qwen2_moe", 3584, 28, 28, 4, 18944, 151936, False, num_experts=64,
                               num_experts_per_tok=8, moe_intermediate_size=2560,
                               shared_expert_intermediate_size=20480, decoder_sparse_step=1, **SILU), 57409.0),
    ("Llama 4 Maverick, text", {"model_type": "llama4", "text_config": decoder(
        "llama4_text", 5120, 48, 40, 8, 8192, 202048, False, head_dim=128, intermediate_size_mlp=16384,
        num_local_experts=128, num_experts_per_tok=1, interleave_moe_layer_step=2, **SILU)}, 400_700.0),
    ("ViT base, 16 x 16", {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                           "intermediate_size": 3072, "image_size": 224, "patch_size": 16, "num_channels": 3,
                           "hidden_act": "gelu"}, 86.4),
    ("Granite 3.0 8B", decoder("granite", 4096, 40, 32, 8, 12800, 49155, True, attention_multiplier=0.0078125,
                               **SILU), 8170.8),
]  # fmt: skip


@pytest.mark.parametrize(("name", "config", "millions"), FAMILIES, ids=[name for name, _, _ in FAMILIES])
def test_a_configuration_has_as_many_parameters_as_published(
    name: str, config: dict[str, Any], millions: float
) -> None:
    assert parameters(read_model(config)).total / 1e6 == pytest.approx(millions, rel=0.01), name


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64, "vocab_size": 50280},
            "mamba has layers",
        ),
        ({"model_type": "jamba", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}, "jamba has"),
        ({"d_model": 2560, "n_layer": 64, "vocab_size": 50277, "ssm_cfg": {}}, "the model has layers"),
        (
            {"model_type": "t5", "d_model": 768, "num_layers": 12, "num_heads": 12, "d_ff": 3072},
            "an encoder and a decoder",
        ),
        ({"model_type": "custom", "hidden_size": 64, "num_hidden_layers": 2, "is_encoder_decoder": True}, "custom has"),
        ({"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "patch_size": "a"}, "no numbers"),
    ],
)
def test_what_is_no_stack_of_attention_is_refused_in_a_sentence(config: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_model(config)


def test_layers_with_experts_by_period_and_by_list() -> None:
    config = decoder("qwen3_moe", 64, 8, 4, 4, 128, 1000, False, num_experts=4, moe_intermediate_size=32, **SILU)
    assert read_model({**config, "decoder_sparse_step": 2}).dense_layers == 4
    assert read_model({**config, "decoder_sparse_step": 1, "mlp_only_layers": [0, 3]}).dense_layers == 2
    assert read_model({**config, "moe_layer_freq": [0, 1, 1, 1, 1, 1, 1, 0]}).dense_layers == 2
    assert read_model({**config, "mlp_only_layers": "none"}).dense_layers == 0
