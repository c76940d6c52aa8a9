"""Memory of layouts, against the formulas of their sources."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.planning.family.counts import parameters
from stepscope.planning.family.reading import read_model
from stepscope.planning.layout import Framework, Layout, Recompute, Schedule
from stepscope.planning.machine.spelling import platform
from stepscope.planning.memory.activations import kept_by_layer
from stepscope.planning.memory.states import per_parameter, state_parts
from stepscope.planning.memory.total import memory
from stepscope.planning.stages import in_flight, stages, stages_of

GPT = replace(read_model("gpt-22b"), dropout=True)
A100 = platform("a100-80gb")
TENSOR = Layout(tp=8, micro_batch=4, global_batch=4, attention="unfused")


@pytest.mark.parametrize(
    ("sequence", "recompute", "expected"),
    [
        # Bytes per token and hidden unit: Korthikanti et al. 2022, table 2, with a = 64, s = 2048, h = 6144, t = 8.
        (False, Recompute.NONE, 10 + 24 / 8 + 5 * 64 * 2048 / (6144 * 8)),
        (True, Recompute.NONE, 34 / 8 + 5 * 64 * 2048 / (6144 * 8)),
        (False, Recompute.SELECTIVE, 10 + 24 / 8),
        (True, Recompute.SELECTIVE, 34 / 8),
        (False, Recompute.FULL, 2),
    ],
)
def test_activations_are_those_of_the_paper(sequence: bool, recompute: Recompute, expected: float) -> None:
    layout = replace(TENSOR, sequence_parallel=sequence, recompute=recompute)
    assert kept_by_layer(GPT, layout, False) == pytest.approx(expected * 4 * 2048 * 6144)


def test_fused_attention_keeps_no_scores() -> None:
    fused = kept_by_layer(GPT, replace(TENSOR, attention="flash"), False)
    assert fused == pytest.approx((13 + 4 * 8 / 6144) * 4 * 2048 * 6144)  # and 4 bytes per head and token


def test_some_layers_recomputed_lie_in_between() -> None:
    none, full = (
        kept_by_layer(GPT, replace(TENSOR, recompute=kind), False) for kind in (Recompute.NONE, Recompute.FULL)
    )
    half = kept_by_layer(GPT, replace(TENSOR, recompute=Recompute.LAYERS, recomputed_layers=24), False)
    assert half == pytest.approx((none + full) / 2)


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (Layout(dp=8), (2, 4, 12)),
        (Layout(dp=8, framework=Framework.DEEPSPEED), (2, 2, 12)),
        (Layout(dp=8, zero=3, framework=Framework.FSDP), (4, 4, 8)),
        (Layout(dp=8, optimizer="sgd"), (2, 4, 8)),
        (Layout(dp=8, precision="fp32"), (4, 4, 8)),
        (Layout(dp=8, precision="fp8"), (4, 4, 12)),  # fp8 copies beside 16-bit weights
        (Layout(dp=8, precision="fp8", fp8_weights=True), (2, 2, 12)),
        (Layout(dp=8, zero=3, framework=Framework.FSDP, master_weights=False), (2, 2, 4)),
        (Layout(dp=8, framework=Framework.DEEPSPEED, zero=1, precision="fp16"), (2, 2, 18)),
    ],
)
def test_bytes_per_parameter(layout: Layout, expected: tuple[float, float, float]) -> None:
    each = per_parameter(layout)
    assert (each.weights, each.gradients, each.optimizer) == expected


@pytest.mark.parametrize(("zero", "expected"), [(0, 18), (1, 6 + 12 / 8), (2, 2 + 16 / 8), (3, 18 / 8)])
def test_zero_shards_the_optimizer_then_gradients_then_weights(zero: int, expected: float) -> None:
    shape = read_model("llama2-7b")
    (stage,) = stages(shape, 1, 1)
    parts = state_parts(shape, Layout(dp=8, zero=zero), stage)
    assert sum(parts.values()) / parameters(shape).total == pytest.approx(expected, rel=1e-3)


def test_experts_are_split_over_their_ranks() -> None:
    shape = read_model("mixtral-8x7b")
    (stage,) = stages(shape, 1, 1)
    alone = state_parts(shape, Layout(dp=8), stage)["weights"]
    split = state_parts(shape, Layout(dp=8, ep=8), stage)["weights"]
    experts = parameters(shape).experts * shape.layers
    assert alone - split == pytest.approx(2 * experts * 7 / 8)


@pytest.mark.parametrize(
    ("layout", "stage", "expected"),
    [
        (Layout(pp=8, global_batch=64), 0, 8),
        (Layout(pp=8, global_batch=64), 7, 1),
        (Layout(pp=8, global_batch=4), 0, 4),
        # Korthikanti et al. 2022: the interleaved schedule holds p (1 + (p - 1) / (p v)) on the first stage.
        (Layout(pp=8, virtual_stages=3, schedule=Schedule.INTERLEAVED, global_batch=64), 0, 8 * (1 + 7 / 24)),
        (Layout(pp=8, schedule=Schedule.GPIPE, global_batch=64), 7, 64),
        (Layout(pp=1, global_batch=64), 0, 1),
    ],
)
def test_micro_batches_in_flight(layout: Layout, stage: int, expected: float) -> None:
    assert in_flight(layout, stage) == pytest.approx(expected)


@pytest.mark.parametrize(("pp", "virtual", "expected"), [(8, 1, [15, *[16] * 6, 15]), (4, 2, [31, 32, 32, 31])])
def test_stages_share_layers_that_do_not_divide(pp: int, virtual: int, expected: list[int]) -> None:
    found = [stage.layers for stage in stages(read_model("llama3-405b"), pp, virtual)]
    assert sum(found) == 126
    assert found == expected


@pytest.mark.parametrize(
    ("layers", "expected"),
    [(78, [7] * 11 + [1]), (70, [5, *[6] * 10, 5]), (72, [6] * 12)],  # 70 + 2 ends divide by 12
)
def test_deepspeed_fills_stages_from_the_first(layers: int, expected: list[int]) -> None:
    layout = Layout(pp=12, framework=Framework.DEEPSPEED)
    assert [stage.layers for stage in stages_of(replace(GPT, layers=layers), layout)] == expected


def test_whole_gradients_stay_where_only_the_last_micro_batch_is_reduced() -> None:
    shape = read_model("llama2-7b")
    each = Layout(dp=8, zero=3, framework=Framework.FSDP, global_batch=32)
    one, whole = (memory(shape, replace(each, reduce_each=kind), A100).parts["gathered"] for kind in (True, False))
    assert whole - one == pytest.approx(4 * parameters(shape).total, rel=0.01)
    alone = replace(each, reduce_each=False, global_batch=8)
    assert memory(shape, alone, A100).parts == memory(shape, replace(alone, reduce_each=True), A100).parts


@pytest.mark.parametrize(
    ("framework", "zero", "part", "bytes_each"),
    [
        (Framework.MEGATRON, 1, "gradients", 2.0),
        (Framework.FSDP, 3, "gathered", 2 / 32),
        (Framework.DEEPSPEED, 1, "", 0.0),
    ],
)
def test_what_is_reduced_in_16_bits_takes_less(framework: Framework, zero: int, part: str, bytes_each: float) -> None:
    shape = read_model("llama2-7b")
    layout = Layout(dp=8, zero=zero, framework=framework, global_batch=32, recompute=Recompute.FULL)
    wide, narrow = (memory(shape, replace(layout, narrow_reduction=kind), A100).parts for kind in (False, True))
    if not part:
        assert wide == narrow
    else:
        # Megatron's whole gradients; of FSDP those of a layer, one of 32.
        assert wide[part] - narrow[part] == pytest.approx(bytes_each * parameters(shape).total, rel=0.05)


@pytest.mark.parametrize(
    ("framework", "precision", "bytes_each"),
    [(Framework.MEGATRON, "bf16", 2), (Framework.MEGATRON, "fp8", 4), (Framework.FSDP, "bf16", 2)],
)
def test_frozen_weights_have_neither_gradients_nor_state(framework: Framework, precision: str, bytes_each: int) -> None:
    shape = read_model("llama2-7b")
    parts = memory(shape, Layout(framework=framework, precision=precision, lora=16), A100).parts
    # 32 layers with 12,288 + 4,096 + 22,016 + 4,096 columns and 4,096 + 4,096 + 4,096 + 11,008 rows.
    low = 16 * 32 * (42496 + 23296)
    assert parts["weights"] == pytest.approx(bytes_each * parameters(shape).total + 2 * low, rel=0.001)
    assert (parts["gradients"], parts["optimizer"]) == (4 * low, 12 * low)


def test_whole_mixtures_that_are_recomputed_keep_their_input_alone() -> None:
    shape = read_model("qwen3-30b-a3b")
    layout = Layout(ep=8, dp=8, global_batch=64, recompute=Recompute.EXPERTS)
    kept = kept_by_layer(shape, layout, True)
    # Two norms' inputs, queries, keys, values and the result of attention, its statistics, the router's probabilities.
    attention = 2 * (4096 + 2 * 512 + 4096) + 4 * 32
    assert kept == layout.tokens * (4 * 2048 + attention)
    assert kept < 0.4 * kept_by_layer(shape, replace(layout, recompute=Recompute.MODULES), True)
    dense = read_model("llama3-8b")
    same = [
        kept_by_layer(dense, replace(layout, ep=1, recompute=how), False)
        for how in (Recompute.EXPERTS, Recompute.MODULES)
    ]
    assert same[0] == same[1]


def test_a_mixture_has_low_rank_matrices_beside_its_experts() -> None:
    shape = read_model("mixtral-8x7b")
    parts = memory(shape, Layout(lora=8), A100).parts
    attention, expert = 2 * 4096 + 6144 + 4096, 4096 + 28672 + 14336 + 4096
    assert parts["gradients"] == 4 * 8 * 32 * (attention + 8 * expert)


def test_a_loss_in_one_kernel_keeps_no_copies_of_logits() -> None:
    shape = read_model("llama3-8b")
    layout = Layout(dp=32, zero=3, framework=Framework.TORCHTITAN, global_batch=64, micro_batch=2, seq=8192)
    several, one = (memory(shape, replace(layout, fused_loss=kind), A100).parts["logits"] for kind in (False, True))
    assert (several, one) == (14 * 2 * 8192 * 128256, 4 * 2 * 8192 * 128256)


def test_a_process_of_the_years_before_lazy_loading_has_all_kernels() -> None:
    old, new = (memory(GPT, replace(TENSOR, attention=kind), A100).outside["context"] for kind in ("unfused", "flash"))
    assert (old >> 20, new >> 20) == (1573, 600)


def test_bf16_gradients_of_a_deepspeed_pipeline_are_narrowed_at_once() -> None:
    layout = Layout(tp=8, pp=4, zero=1, framework=Framework.DEEPSPEED, attention="unfused", recompute=Recompute.FULL)
    half, brain = (memory(GPT, replace(layout, precision=kind), A100).parts["gathered"] for kind in ("fp16", "bf16"))
    number = state_parts(GPT, layout, stages_of(GPT, layout)[0])["weights"] / 2
    assert half == pytest.approx(4 * 5e8)
    assert brain > 2 * number


def test_experts_that_nothing_splits_lie_on_more_ranks() -> None:
    shape = read_model("mixtral-8x7b")
    layout = Layout(tp=2, dp=4, ep=8, expert_tp=1)
    assert layout.expert_ranks == 8
    (stage,) = stages(shape, 1, 1)
    split = state_parts(shape, replace(layout, expert_tp=0, ep=4), stage)
    assert state_parts(shape, layout, stage)["weights"] == split["weights"]


def test_dense_layers_of_a_mixture_lie_on_the_first_stage() -> None:
    found = stages(read_model("deepseek-v3"), 16, 1)
    assert [stage.dense for stage in found] == [3, *[0] * 15]
    assert sum(stage.sparse for stage in found) == 58


def test_parts_add_up_and_decide_whether_it_fits() -> None:
    found = memory(GPT, TENSOR, A100)
    assert found.allocated_bytes == sum(found.parts.values())
    assert found.device_bytes == found.allocated_bytes + sum(found.outside.values())
    assert not found.fits  # 104 GiB, which is why the paper recomputes
    assert memory(GPT, replace(TENSOR, recompute=Recompute.SELECTIVE, sequence_parallel=True), A100).fits


@pytest.mark.parametrize(("size", "fits", "tight"), [(0.999, False, False), (1.001, True, True), (1.1, True, False)])
def test_within_five_percent_of_memory_is_tight(size: float, fits: bool, tight: bool) -> None:
    need = memory(GPT, TENSOR, A100).device_bytes
    found = memory(GPT, TENSOR, replace(A100, memory_bytes=round(need * size / 0.985)))
    assert (found.fits, found.tight) == (fits, tight)


def test_each_hccl_domain_has_two_buffers() -> None:
    found = memory(GPT, replace(TENSOR, tp=8, dp=2, global_batch=8), platform("910b"))
    assert found.outside["communication"] == 2 * (400 << 20)
