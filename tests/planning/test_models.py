"""Models as users give them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.model.errors import UserError
from stepscope.planning.family.counts import parameters
from stepscope.planning.family.presets import PRESETS
from stepscope.planning.family.reading import read_model


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("llama2-7b", 6.738), ("llama2-13b", 13.016), ("llama2-70b", 68.977), ("llama3-8b", 8.030),
        ("llama3-70b", 70.554), ("llama3-405b", 405.85), ("mixtral-8x7b", 46.70), ("qwen3-0.6b", 0.596),
        ("qwen3-30b-a3b", 30.53), ("qwen3-235b-a22b", 235.09), ("deepseek-v3", 671.03), ("gpt3-175b", 174.6),
        ("bloom-176b", 176.25), ("falcon-40b", 41.8), ("gpt-oss-120b", 116.8), ("palm-540b", 540.35),
        ("nemotron-340b", 341.0), ("gpt2-xl", 1.56),
    ],
)  # fmt: skip
def test_presets_have_as_many_parameters_as_published(name: str, billions: float) -> None:
    assert parameters(read_model(name)).total / 1e9 == pytest.approx(billions, rel=0.003)


def test_active_parameters_of_mixtures() -> None:
    active = {name: parameters(read_model(name)).active / 1e9 for name in ("qwen3-235b-a22b", "deepseek-v3")}
    assert active == {"qwen3-235b-a22b": pytest.approx(21.6, rel=0.02), "deepseek-v3": pytest.approx(37, rel=0.02)}


@pytest.mark.parametrize(
    ("written", "preset"),
    [
        ("Llama 3.1 8B", "llama3-8b"), ("LLAMA3_70B", "llama3-70b"), ("meta-llama/Llama-2-7b-hf", "llama2-7b"),
        ("175B (GPT-3)", "gpt3-175b"), ("DeepSeekV3", "deepseek-v3"), ("Qwen3_30B_a3B", "qwen3-30b-a3b"),
        ("GPT OSS 120B", "gpt-oss-120b"), ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
    ],
)  # fmt: skip
def test_names_are_found_as_people_write_them(written: str, preset: str) -> None:
    assert read_model(written).name == preset


def test_every_preset_can_be_read() -> None:
    for name in PRESETS:
        assert parameters(read_model(name)).total > 1e8


def test_a_hugging_face_configuration(tmp_path: Path) -> None:
    config = {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
        "hidden_act": "silu",
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    shape = read_model(tmp_path)
    assert (shape.gated, shape.kv_heads, shape.ffn, shape.tied, shape.layer_norm) == (True, 8, 14336, False, False)
    assert parameters(shape).total == parameters(read_model("llama3-8b")).total


def test_latent_attention_and_experts_of_a_configuration() -> None:
    config = {
        "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "n_routed_experts": 256,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
        "tie_word_embeddings": False, "hidden_act": "silu",
    }  # fmt: skip
    assert parameters(read_model(config)).total == parameters(read_model("deepseek-v3")).total


@pytest.mark.parametrize(
    ("document", "gated", "ffn"),
    [
        ({"layers": 96, "hidden": 12288, "heads": 96}, False, 49152),
        ({"layers": 32, "hidden": 4096, "heads": 32, "ffn": 11008}, True, 11008),
        ({"layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8}, True, 22016),
        ({"layers": 32, "hidden": 4096, "heads": 32, "ffn": 16384}, False, 16384),
        ({"layers": 42, "hidden": 3584, "heads": 16, "ffn": 14336, "activation": "gelu_glu"}, True, 14336),
        ({"layers": 32, "hidden": 4096, "heads": 32, "vocab": 32000, "ffn": 16384, "params_b": 8.9}, True, 16384),
    ],
)
def test_what_lacks_follows_the_family(document: dict[str, Any], gated: bool, ffn: int) -> None:
    shape = read_model(document)
    assert (shape.gated, shape.ffn) == (gated, ffn)
    assert shape.assumed


@pytest.mark.parametrize(
    "document",
    [
        {}, {"layers": 3}, {"layers": "many", "hidden": 64}, {"layers": -1, "hidden": 64},
        {"layers": 2, "hidden": True}, {"layers": float("nan"), "hidden": 64},
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        read_model(document)


@pytest.mark.parametrize("text", ["no JSON", "[1]", '{"a": ' * 5000])
def test_files_that_state_no_model(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(UserError):
        read_model(path)


def test_an_unknown_name_is_answered_with_similar_ones() -> None:
    with pytest.raises(UserError, match="llama3-70b"):
        read_model("llama4-70b")
