"""Times of layouts: laws that hold whatever the rates, and layers against their published times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.planning.family.counts import flops_per_token
from stepscope.planning.family.reading import read_model
from stepscope.planning.judge import judge
from stepscope.planning.layout import Framework, Layout, Recompute, Schedule
from stepscope.planning.machine.gemm import filled_share, gemm
from stepscope.planning.machine.spelling import platform
from stepscope.planning.machine.topology import LinkGroup, all_reduce, all_to_all, gather
from stepscope.planning.time.layer import layer
from stepscope.planning.time.step import step

A100 = platform("a100-80gb")
GPT = replace(read_model("gpt-22b"), dropout=True)
PAPER = Layout(tp=8, micro_batch=4, global_batch=4, attention="unfused")


@pytest.mark.parametrize(
    ("sequence", "recompute", "forward", "backward"),
    [
        # Milliseconds of a layer of the 22B model: Korthikanti et al. 2022, table 4.
        (False, Recompute.NONE, 7.7, 11.9),
        (True, Recompute.NONE, 7.2, 11.8),
        (False, Recompute.FULL, 7.7, 19.5),
        (False, Recompute.SELECTIVE, 7.7, 13.2),
        (True, Recompute.SELECTIVE, 7.2, 13.1),
    ],
)
def test_a_layer_takes_what_the_paper_measured(
    sequence: bool, recompute: Recompute, forward: float, backward: float
) -> None:
    found = layer(GPT, replace(PAPER, sequence_parallel=sequence, recompute=recompute), A100, False)
    assert 1e3 * found.forward.seconds == pytest.approx(forward, rel=0.12)
    assert 1e3 * (found.backward.seconds + found.again.seconds) == pytest.approx(backward, rel=0.12)


def test_model_flops_are_those_of_the_paper() -> None:
    # Narayanan et al. 2021, equation 3, without recomputation: 72 b s l h^2 (1 + s / 6h + v / 12lh).
    shape = read_model("gpt3-175b")
    h, s, layers, vocab = 12288, 2048, 96, 51200
    expected = 72 * layers * h**2 * (1 + s / (6 * h) + vocab / (12 * layers * h))
    assert flops_per_token(shape, s) == pytest.approx(expected, rel=0.01)


def test_a_gemm_takes_no_less_than_its_flops_and_its_bytes() -> None:
    for m, n, k in ((8192, 8192, 8192), (128, 128, 8192), (8192, 64, 64), (5000, 3000, 1000)):
        seconds = gemm(m, n, k, "bf16", A100)
        assert seconds >= 2 * m * n * k / 312e12
        assert seconds >= 2 * (m * k + k * n + m * n) / 2039e9


def test_a_wave_that_is_hardly_filled_costs() -> None:
    full, over = filled_share(256 * 12, 128 * 9, 4096, 108), filled_share(256 * 12 + 1, 128 * 9 + 1, 4096, 108)
    assert full > 0.95
    assert over < full


def test_collectives_move_what_rings_move() -> None:
    group = LinkGroup.of(8, 1, A100)
    size = 1e9
    assert all_reduce(size, group, A100) == pytest.approx(2 * 7 / 8 * size / A100.link, rel=0.02)
    assert gather(size, group, A100) == pytest.approx(7 / 8 * size / A100.link, rel=0.02)
    assert (
        all_reduce(size, LinkGroup(1, 1), A100)
        == gather(0, group, A100)
        == all_to_all(size, LinkGroup(1, 1), A100)
        == 0
    )


def test_a_mesh_gives_few_devices_few_links() -> None:
    npu = platform("910b")
    times = [all_reduce(1e9, LinkGroup.of(size, 1, npu), npu) for size in (2, 8)]
    assert times[0] == pytest.approx(7 * 1e9 / npu.link, rel=0.02)
    assert times[1] == pytest.approx(2 * 7 / 8 * 1e9 / npu.link, rel=0.05)


def test_groups_know_how_many_share_a_server() -> None:
    assert LinkGroup.of(8, 1, A100) == LinkGroup(8, 8)
    assert LinkGroup.of(16, 1, A100).inside == 8
    assert LinkGroup.of(64, 4, A100).inside == 2
    assert LinkGroup.of(64, 8, A100).inside == 1
    slow, fast = (all_reduce(1e9, LinkGroup.of(64, stride, A100), A100) for stride in (8, 1))
    assert slow > 5 * fast


def test_a_bubble_is_what_the_paper_says() -> None:
    # (p - 1) / m of the ideal time, and (p - 1) / (m v) with chunks, where all stages take alike.
    shape = replace(read_model("llama2-70b"), vocab=128)
    base = Layout(tp=8, pp=8, global_batch=64, sequence_parallel=True)
    for virtual in (1, 2, 5):
        kind = Schedule.INTERLEAVED if virtual > 1 else Schedule.ONE_F_ONE_B
        found = step(shape, replace(base, virtual_stages=virtual, schedule=kind), A100)
        ideal = 64 * sum(found.stages[0])
        assert found.parts["bubble"] / ideal == pytest.approx(7 / 64 / virtual, rel=0.03)


def test_the_parts_of_a_step_add_up() -> None:
    plan = judge(GPT, PAPER, A100)
    assert plan.step_ns == sum(plan.time_ns.values())
    assert plan.step_ns == pytest.approx(1.06e9, rel=0.1)


@pytest.mark.parametrize(
    ("change", "slower"),
    [
        ({"recompute": Recompute.FULL}, True),
        ({"tp_overlap": True}, False),
        ({"attention": "flash"}, False),
        ({"sequence_parallel": True}, False),
    ],
)
def test_changes_turn_the_step_where_they_should(change: dict, slower: bool) -> None:
    base, other = (step(GPT, one, A100).seconds for one in (PAPER, replace(PAPER, **change)))
    assert (other > base) == slower


def test_tensor_parallelism_can_lose_to_stages() -> None:
    """176 B on 384 A100: TP 4 x PP 12 is quicker than TP 8 x PP 6."""
    shape = read_model("bloom-176b")
    base = Layout(dp=8, micro_batch=2, global_batch=2048, recompute=Recompute.FULL, zero=1, attention="unfused")
    narrow, wide = (step(shape, replace(base, tp=tp, pp=pp), A100).seconds for tp, pp in ((4, 12), (8, 6)))
    assert narrow < wide


def test_a_token_crosses_to_a_server_once_with_a_grouped_dispatch() -> None:
    """DeepSeek-V3: 8 experts on 8 servers, of which routing takes 4 (arXiv 2412.19437, section 3.2.2)."""
    shape, h100 = read_model("deepseek-v3"), platform("h100")
    base = Layout(dp=64, ep=64, seq=4096, global_batch=64)
    each, once = (
        layer(shape, replace(base, grouped_dispatch=kind), h100, True).forward.expert_comm for kind in (False, True)
    )
    assert once / each == pytest.approx(4 / 8, rel=0.05)


def test_deepspeeds_pipeline_sends_whole_tensors_and_sums_gradients() -> None:
    layout = Layout(tp=4, pp=4, global_batch=64, attention="unfused", overlap=False, precision="fp16")
    ours, theirs = (step(GPT, replace(layout, framework=one), A100).parts for one in Framework if one in _BOTH)
    assert theirs["pipeline transfers"] > 2 * ours["pipeline transfers"]
    assert theirs["gemm"] < ours["gemm"]  # sums of 16 bits rather than 32


_BOTH = (Framework.MEGATRON, Framework.DEEPSPEED)


@pytest.mark.parametrize("shards", [0, 8])
def test_gradients_of_16_bits_are_reduced_in_less_time(shards: int) -> None:
    layout = Layout(dp=64, zero=3, framework=Framework.FSDP, global_batch=64, seq=512, shards=shards)
    wide, narrow = (step(GPT, replace(layout, narrow_reduction=kind), A100) for kind in (False, True))
    # Weights are gathered twice, 2 bytes each; gradients of 4 or 2 bytes are scattered. With shards in each server
    # that is 2 + 2 + 4 bytes at 235 GB/s, 7 of 8 of them, and 2 x 7/8 of an eighth of 4 bytes at 21 GB/s.
    within, between = 7 / 8 / 235, 2 * 7 / 8 / 8 / 21
    expected = (6 * within + 2 * between) / (8 * within + 4 * between) if shards else 6 / 8
    assert narrow.moved / wide.moved == pytest.approx(expected, abs=0.01)
    assert narrow.seconds < wide.seconds


def test_whole_mixtures_are_computed_and_sent_again() -> None:
    shape = read_model("qwen3-30b-a3b")
    layout = Layout(ep=8, dp=8, global_batch=64)
    modules, mixtures, full = (
        step(shape, replace(layout, recompute=how), A100).parts["recomputation"]
        for how in (Recompute.MODULES, Recompute.EXPERTS, Recompute.FULL)
    )
    assert 3 * modules < mixtures < full
    latent = read_model("deepseek-v2-lite")
    assert (
        step(latent, replace(layout, recompute=Recompute.EXPERTS), A100).parts["recomputation"]
        > step(latent, replace(layout, recompute=Recompute.MODULES), A100).parts["recomputation"]
    )


def test_frozen_weights_have_no_gradients_to_compute_and_to_reduce() -> None:
    shape = read_model("llama2-7b")
    layout = Layout(dp=64, zero=3, framework=Framework.FSDP, global_batch=64, micro_batch=1, seq=2048)
    whole, frozen = (step(shape, replace(layout, lora=rank), A100) for rank in (0, 16))
    # Of three multiplications two are left, and two narrow ones beside each.
    assert 2 / 3 < frozen.parts["gemm"] / whole.parts["gemm"] < 0.9
    # Weights are gathered twice, 2 bytes each; gradients of 4 are not scattered.
    assert frozen.moved / whole.moved == pytest.approx(0.5, abs=0.02)
    replicated = replace(layout, zero=0, framework=Framework.MEGATRON, lora=16)
    assert "data parallel" not in step(shape, replicated, A100).parts


def test_a_loss_in_one_kernel_takes_less_time() -> None:
    layout = Layout(framework=Framework.FSDP, global_batch=8)
    several, one = (step(GPT, replace(layout, fused_loss=kind), A100).parts["elementwise"] for kind in (False, True))
    assert several - one == pytest.approx(8 * 38 * 2048 * GPT.vocab / A100.memory_bandwidth, rel=0.01)


def test_gradients_that_wait_for_the_last_micro_batch_are_reduced_once() -> None:
    shape = read_model("llama2-7b")
    layout = Layout(dp=64, zero=3, framework=Framework.FSDP, global_batch=512, seq=512)
    each, once = (step(shape, replace(layout, reduce_each=kind), A100).moved for kind in (True, False))
    assert once < 0.7 * each
