"""What is particular to Huawei's NPUs, against kernels that public recordings have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.planning.family.reading import read_model
from stepscope.planning.layout import Framework, Layout
from stepscope.planning.machine.gemm import attention_share, gemm
from stepscope.planning.machine.spelling import platform
from stepscope.planning.machine.topology import LinkGroup, gather
from stepscope.planning.recording.calibrate import _attention
from stepscope.planning.time.layer import layer

A100 = platform("a100-80gb")
NPU = platform("910b")
#: 20 cores at 1,650 MHz: those of the recording in test/st/level2 of Ascend/msinsight, a stage of Qwen3-0.6B.
RECORDED = replace(platform("910b3"), peaks={"bf16": 270e12}, units=20)
LLAMA = read_model("llama3-8b")
SPLIT = Layout(tp=8, micro_batch=2, global_batch=64, seq=8192, sequence_parallel=True)


def test_fused_attention_takes_what_its_kernels_took() -> None:
    found = layer(read_model("qwen3-0.6b"), Layout(seq=4096), RECORDED, False)
    assert 1e6 * found.forward.attention == pytest.approx(882.8, rel=0.05)  # FlashAttentionScore
    assert 1e6 * found.backward.attention == pytest.approx(2254.6, rel=0.05)  # FlashAttentionScoreGrad


def test_multiplications_take_what_their_kernels_took() -> None:
    """Microseconds of MatMulV2 and MatMulV3 in a layer, forward and backward, with 4,096 tokens."""
    recorded = {
        (4096, 4096, 1024): 166.3, (4096, 1024, 2048): 94.9, (4096, 6144, 1024): 238.8, (4096, 1024, 3072): 130.5,
        (4096, 1024, 4096): 179.0, (4096, 2048, 1024): 79.1, (4096, 1024, 6144): 277.2, (4096, 3072, 1024): 127.7,
        (6144, 1024, 4096): 286.5, (1024, 2048, 4096): 124.9, (1024, 3072, 4096): 188.5,
    }  # fmt: skip
    taken = sum(gemm(*shape, "bf16", RECORDED) for shape in recorded)
    assert 1e6 * taken == pytest.approx(sum(recorded.values()), rel=0.05)


def test_narrow_heads_take_as_long_per_score() -> None:
    wide, narrow = (attention_share(NPU, "flash", dim, 8192, False) for dim in (128, 64))
    assert narrow == pytest.approx(wide / 2)
    assert attention_share(NPU, "flash", 256, 8192, False) == wide
    assert attention_share(A100, "flash", 64, 8192, False) > 0.7 * attention_share(A100, "flash", 128, 8192, False)


def test_recorded_attention_keeps_its_rate_in_usual_sequences() -> None:
    row = {"op_class": "attention", "dtype": "bf16", "flops": 4e11, "total_ns": 4e6, "count": 4}
    found = _attention(NPU, [{**row, "name": "FlashAttentionScoreGrad"}])
    ramp = 4096 / (4096 + NPU.reach)
    assert found.attention[1] * ramp == pytest.approx(1e14 / NPU.peak("bf16") * 4096 / 4496)


def test_gradients_are_summed_by_an_operator_of_its_own() -> None:
    weights = LLAMA.hidden * (LLAMA.query_width + 2 * LLAMA.kv_width + LLAMA.value_width + 3 * LLAMA.ffn)
    within, apart = (
        layer(LLAMA, Layout(seq=8192), replace(NPU, separate=separate), False).backward.gemm
        for separate in (False, True)
    )
    assert apart - within == pytest.approx(2 * weights / NPU.memory_bandwidth)


def test_what_scripts_leave_unfused_costs_on_npus() -> None:
    fused, apart = (
        [layer(LLAMA, replace(SPLIT, compiled=compiled), one, False).forward.elementwise for one in (NPU, A100)]
        for compiled in (True, False)
    )
    assert apart[0] > 1.2 * fused[0]
    assert apart[1] == fused[1]  # Megatron on GPUs fuses by itself
    assert layer(LLAMA, replace(SPLIT, framework=Framework.FSDP, compiled=False), A100, False).forward.elementwise > 0


def test_a_collective_hides_behind_its_own_multiplication_only() -> None:
    hidden = replace(SPLIT, tp_overlap=True)
    each = gather(2.0 * SPLIT.tokens * LLAMA.hidden, LinkGroup.of(8, 1, NPU), NPU)
    found = layer(LLAMA, hidden, NPU, False).forward.tensor_comm
    projection = gemm(SPLIT.tokens, LLAMA.hidden, LLAMA.value_width / 8, "bf16", NPU)
    assert each > projection  # of what is scattered behind the projection, that much is seen
    assert 4 * 0.25 * each < found < 4 * each
    quick = replace(NPU, link=10 * NPU.link)
    few = gather(2.0 * SPLIT.tokens * LLAMA.hidden, LinkGroup.of(8, 1, quick), quick)
    assert layer(LLAMA, hidden, quick, False).forward.tensor_comm == pytest.approx(4 * 0.25 * few)


def test_collectives_around_experts_do_not_hide() -> None:
    shape = read_model("mixtral-8x7b")
    hidden = replace(SPLIT, tp_overlap=True)
    dense, sparse = (layer(shape, hidden, A100, kind).forward.tensor_comm for kind in (False, True))
    each = gather(2.0 * SPLIT.tokens * shape.hidden, LinkGroup.of(8, 1, A100), A100)
    assert sparse - dense == pytest.approx(2 * 0.75 * each)
