"""What plans are written out as for frameworks: every size that decides, in options that they have."""

from __future__ import annotations

import json
from typing import Any

import pytest

import stepscope
from stepscope.model.errors import UserError
from stepscope.planning.family.reading import read_model
from stepscope.planning.layout import Framework, Layout
from stepscope.planning.machine.spelling import platform
from stepscope.planning.request import request
from stepscope.planning.search.space import groups
from stepscope.planning.settings import deepspeed, megatron, torchtitan


def test_a_prime_number_of_layers_is_cut_nearly_evenly() -> None:
    asked = request(read_model("deepseek-v3"), platform("h800"), 256, {"seq": 4096, "tp": 1, "micro_batch": 1})
    found = {(group["pp"], group["virtual_stages"]) for group in groups(asked)}
    assert {(16, 1), (32, 1), (8, 2)} <= found  # 61 layers in 16 stages: 64 / 61 of the mean
    asked = request(read_model("llama3-405b"), platform("h100"), 16384, {"seq": 8192, "tp": 8, "global_batch": 2048})
    assert (16, 4) in {(group["pp"], group["virtual_stages"]) for group in groups(asked)}


def test_megatron_is_told_how_stages_are_cut_and_what_a_mixture_is() -> None:
    shape = read_model("deepseek-v3")
    said = megatron.arguments(shape, Layout(tp=2, pp=16, dp=8, ep=16, expert_tp=1, zero=1, global_batch=64)).split("\n")
    (cut,) = (line.split("'")[1] for line in said if "pipeline-model-parallel-layout" in line)
    assert cut.startswith("Ettt|tttt|")
    assert cut.endswith("|tttL")
    assert (cut.count("t"), cut.count("|")) == (61, 15)
    for one in ("--expert-tensor-parallel-size 1", "--qk-head-dim 128", "--qk-pos-emb-head-dim 64", "--v-head-dim 128",
                "--moe-layer-freq '([0]*3+[1]*58)'", "--moe-shared-expert-intermediate-size 2048",
                "--moe-token-dispatcher-type alltoall", "--disable-bias-linear"):  # fmt: skip
        assert one in said


def test_even_stages_and_experts_that_are_split_need_no_more_words() -> None:
    text = megatron.arguments(read_model("mixtral-8x7b"), Layout(tp=2, pp=4, dp=8, ep=8, global_batch=64))
    assert "layout" not in text
    assert "expert-tensor" not in text
    other = megatron.arguments(read_model("mixtral-8x7b"), Layout(dp=8, ep=8, grouped_dispatch=True, global_batch=64))
    assert "--moe-token-dispatcher-type flex" in other
    assert "alltoall" not in other


def test_torchtitan_and_deepspeed_get_numbers_only() -> None:
    text = torchtitan.toml(Layout(dp=8, ep=4, zero=3, framework=Framework.TORCHTITAN, global_batch=8))
    assert "expert_parallel_degree = 4" in text
    layout = Layout(tp=2, dp=4, zero=3, framework=Framework.DEEPSPEED, global_batch=8)
    found = json.loads(deepspeed.document(layout))
    assert '"auto"' not in json.dumps(found)  # only Hugging Face's trainer replaces it
    assert found["tensor_parallel"] == {"autotp_size": 2}


@pytest.mark.parametrize("written", ["moe", "layernorm moe", "experts"])
def test_whole_mixtures_are_a_module_of_megatron(written: str) -> None:
    found = stepscope.plan(
        "qwen3-30b-a3b", devices=8, device="h100", tp=1, pp=1, ep=8, micro_batch=1, recompute=written
    )
    assert "--recompute-modules layernorm moe" in found.settings["megatron"].splitlines()
    assert found.plans[0].layout.recompute.value == "moe"


def test_settings_say_how_gradients_are_reduced_and_what_the_loss_is() -> None:
    chosen = {"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 64, "fused_loss": True, "narrow_reduction": True}
    found = stepscope.plan("llama3-8b", devices=8, device="h100", zero=1, **chosen).settings["megatron"]
    assert {"--grad-reduce-in-bf16", "--cross-entropy-loss-fusion"} < set(found.splitlines())
    sharded = stepscope.plan("llama3-8b", devices=8, device="h100", zero=3, framework="fsdp", **chosen).settings
    assert "reduce_dtype=torch.bfloat16" in sharded["fsdp2"]
    titan = stepscope.plan("llama3-8b", devices=8, device="h100", zero=3, framework="torchtitan", **chosen).settings
    assert 'components = ["model", "loss"]' in titan["torchtitan"]


def test_experts_are_split_over_ranks_that_there_are() -> None:
    choices: dict[str, Any] = {"tp": 2, "pp": 1, "micro_batch": 1, "global_batch": 16, "expert_tp": 3}
    with pytest.raises(UserError, match="can't be split over 3 of 16 ranks"):
        stepscope.plan("mixtral-8x7b", devices=16, device="h100", **choices)
