"""What is taken of a layout by the age and the code of its model and framework."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.planning.family.reading import read_model
from stepscope.planning.layout import Framework, Layout, Recompute
from stepscope.planning.machine.gemm import aligned, attention_share
from stepscope.planning.machine.spelling import platform
from stepscope.planning.memory.activations import kept_by_layer
from stepscope.planning.memory.states import per_parameter
from stepscope.planning.planner import answer
from stepscope.planning.request import completed, request
from stepscope.planning.spelled import framework

GPT = {"layers": 24, "hidden": 2048, "heads": 16, "vocab": 51200}
ONE = {"tp": 8, "pp": 1, "micro_batch": 1, "global_batch": 8, "seq": 2048}


def layout(model: Any = GPT, device: str = "a100-80gb", **choices: Any) -> Layout:
    return completed(request(read_model(model), platform(device), 8, {**ONE, **choices}))


@pytest.mark.parametrize(
    ("changed", "attention", "overlap"),
    [
        ({}, "unfused", False),
        ({"framework": "Megatron-DeepSpeed"}, "unfused", False),
        ({"attention": "flash"}, "flash", False),
        ({"overlap": True}, "unfused", True),
        ({"device": "h100"}, "flash3", True),
        ({"seq": 4096}, "flash", True),
        ({"model": "llama2-7b"}, "flash", True),
        ({"framework": "fsdp"}, "flash", True),
        ({"micro_batch": None}, "flash", True),  # the best layout is asked for
        ({"framework": "NeMo"}, "flash", True),  # what follows came with fused attention or later
        ({"tp": 4, "cp": 2}, "flash", True),
        ({"recompute": "modules"}, "flash", True),
        ({"tp_overlap": True}, "flash", True),
        ({"model": {**GPT, "kv_heads": 2}}, "flash", True),
    ],
)
def test_a_gpt_on_an_a100_writes_its_scores(changed: dict[str, Any], attention: str, overlap: bool) -> None:
    found = layout(**changed)
    assert (found.attention, found.overlap) == (attention, overlap)


def test_what_is_taken_is_said() -> None:
    asked = request(read_model(GPT), platform("a100-80gb"), 8, ONE)
    assert any("writes its scores" in one for one in asked.assumed)
    asked = request(read_model("mpt-7b"), platform("a100-80gb"), 8, ONE)
    assert any("kernels of 2022" in one for one in asked.assumed)
    for given in ({"attention": "flash", "overlap": None}, {"attention": None, "overlap": True}):
        (one,) = (said for said in request(read_model(GPT), platform("a100-80gb"), 8, {**ONE, **given}).assumed)
        assert ("scores" in one, "overlap" in one) == (given["attention"] is None, given["overlap"] is None)
    both = request(read_model(GPT), platform("a100-80gb"), 8, {**ONE, "attention": "flash", "overlap": True})
    assert not any("scores" in one for one in both.assumed)


def test_mpt_has_its_own_kernels_norms_and_loss() -> None:
    shape = read_model({**GPT, "name": "mpt-1b"})
    assert (shape.kernels, shape.half_norms, shape.fused_loss, shape.rotary) == ("flash1", True, True, False)
    other = read_model({**GPT, "name": "prompt-1b"})
    assert (other.kernels, other.half_norms, other.fused_loss) == ("", False, False)
    a100 = platform("a100-80gb")
    first, second = (attention_share(a100, kind, 128, 8192, True) for kind in ("flash1", "flash"))
    assert second == pytest.approx(2 * first)


@pytest.mark.parametrize(("width", "kept"), [(13824 / 8, 1.0), (14400 / 8, 0.72), (50257, 0.45), (1066.67, 1.0)])
def test_widths_that_tensor_cores_load_badly_cost(width: float, kept: float) -> None:
    assert aligned(width, 4096) == kept


@pytest.mark.parametrize(
    ("changed", "gradients", "optimizer"),
    [({"pp": 4, "precision": "bf16"}, 6, 12), ({"precision": "bf16"}, 2, 12), ({"precision": "fp16"}, 2, 18)],
)
def test_deepspeed_sums_in_fp32_beside(changed: dict[str, Any], gradients: float, optimizer: float) -> None:
    each = per_parameter(Layout(framework=Framework.DEEPSPEED, zero=1, **changed))
    assert (each.gradients, each.optimizer) == (gradients, optimizer)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Megatron-DeepSpeed", Framework.DEEPSPEED), ("GPT-NeoX", Framework.DEEPSPEED), ("llm-foundry", Framework.FSDP),
        ("NeMo/Megatron Core", Framework.MEGATRON), ("MindSpeed-LLM", Framework.MEGATRON),
    ],
)  # fmt: skip
def test_frameworks_as_people_write_them(text: str, expected: Framework) -> None:
    assert framework(text) is expected


def test_recipes_of_nvidia_shard_the_optimizer_and_overlap() -> None:
    found = layout("llama2-7b", "h100", framework="NeMo 24.12")
    assert (found.zero, found.tp_overlap, found.fp8_weights, found.expert_split) == (1, True, True, 1)
    other = layout("llama2-7b", "h100", framework="megatron")
    assert (other.fp8_weights, other.expert_split, other.grouped_dispatch) == (False, 8, False)
    assert layout("llama2-7b", "h100", framework="nemo", zero=0).zero == 0


def test_a_sweep_that_ran_out_of_memory_does_not_fit() -> None:
    """BigScience: 181 B on 384 A100 without stages, and with six of them at TP 2 (see bench/plan/second)."""
    shape = read_model({"layers": 72, "hidden": 14336, "heads": 64, "vocab": 250880})
    for tp, pp in ((8, 1), (2, 6)):
        given = {"tp": tp, "pp": pp, "micro_batch": 1, "global_batch": 2016 if pp == 1 else 2048, "seq": 2048,
                 "recompute": "full", "zero": 1, "precision": "fp16", "framework": "megatron-deepspeed"}  # fmt: skip
        (plan,) = answer(request(shape, platform("a100-80gb"), 384, given)).plans
        assert not plan.memory.fits


def test_modules_keep_less_than_nothing_recomputed_and_more_than_full() -> None:
    shape = read_model("deepseek-v3")
    for precision in ("bf16", "fp8"):
        kept = [
            kept_by_layer(shape, Layout(precision=precision, recompute=kind), True)
            for kind in (Recompute.NONE, Recompute.MODULES, Recompute.FULL)
        ]
        assert kept[0] > 2 * kept[1] > 4 * kept[2]
    whole, eighth = (kept_by_layer(shape, Layout(precision=one), True) for one in ("bf16", "fp8"))
    assert eighth < whole
