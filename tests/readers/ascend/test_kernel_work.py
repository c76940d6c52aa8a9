"""FLOPs of matrix kernels from their recorded shapes."""

from __future__ import annotations

import pytest

from stepscope.readers.ascend.hardware.kernel_work import kernel_cost


def flops(op_type: str, shapes: str, out: str, types: str = "", formats: str = "") -> int | None:
    kinds = types or ";".join(["DT_BF16"] * (shapes.count(";") + 1))
    found = kernel_cost(op_type, shapes, kinds, formats, out, ";".join(["DT_BF16"] * (out.count(";") + 1)))
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("shapes", "out"),
    [
        ('"4096,1024;6144,1024"', '"4096,6144"'),
        ("4096,1024;1024,6144", "4096,6144"),
        ("1024,4096;1024,6144", "4096,6144"),
        ("[1024, 4096];[6144, 1024];[6144]", "[4096, 6144]"),
    ],
)
def test_gemms_count_whichever_operand_is_transposed(shapes: str, out: str) -> None:
    assert flops("MatMulV3", shapes, out) == 2 * 4096 * 1024 * 6144


def test_batched_gemms() -> None:
    assert flops("BatchMatMulV2", "12,1024,512;12,512,1024", "12,1024,1024") == 2 * 12 * 1024 * 512 * 1024
    # The second operand has no batch of its own.
    assert flops("BatchMatMul", "12,1024,512;512,64", "12,1024,64") == 2 * 12 * 1024 * 512 * 64


def test_blocked_weights_are_as_large_as_plain_ones() -> None:
    # 1024 x 6144 in blocks of 16 x 16.
    found = flops("MatMulV2", "4096,1024;384,64,16,16", "4096,6144", formats="ND;FRACTAL_NZ")
    assert found == 2 * 4096 * 1024 * 6144


def test_bytes_are_those_of_all_operands() -> None:
    found = kernel_cost("MatMulV2", "4,8;8,16", "FLOAT16;FLOAT16", "ND;ND", "4,16", "FLOAT")
    assert found == (2 * 4 * 8 * 16, 2 * (32 + 128) + 4 * 64)


@pytest.mark.parametrize(
    ("op_type", "shapes", "out"),
    [
        ("MatMulV2", "4096,1024;6144,512", "4096,6144"),
        ("MatMulV2", "4096;6144", "4096"),
        ("MatMulV2", "", ""),
        ("MatMulV2", "a,b;c,d", "4096,6144"),
        ("Add", "4096,1024;4096,1024", "4096,1024"),
        ("GroupedMatmul", "8,64;8,128", "64,128"),
    ],
)
def test_shapes_that_make_no_gemm_have_no_cost(op_type: str, shapes: str, out: str) -> None:
    assert flops(op_type, shapes, out) is None


def test_grouped_gemms_meet_one_matrix_per_row() -> None:
    assert flops("GroupedMatmul", "300,64;8,64,128;;;;8", "300,128") == 2 * 300 * 64 * 128


SCORES = "1,16,4096,8;1,16,4096,8;;4096,1,2048"
PAIRS = 16 * 4096 * 4096


def test_attention_counts_all_pairs_unless_its_mask_is_a_compressed_one() -> None:
    qkv = "4096,1,2048;4096,1,1024;4096,1,1024"
    assert flops("FlashAttentionScore", qkv, SCORES) == 4 * PAIRS * 128
    types = "DT_BF16;DT_BF16;DT_BF16;DT_BF16;UINT8;DT_BF16;BOOL"
    causal = flops("FlashAttentionScore", f"{qkv};;;;2048,2048", SCORES, types)
    assert causal == 4 * 16 * (4096 * 4097 // 2) * 128
    assert flops("FlashAttentionScore", f"{qkv};;;;4096,4096", SCORES, types) == 4 * PAIRS * 128


def test_layouts_of_attention_are_told_by_the_maxima() -> None:
    for query, keys in (("2,512,2048", "2,512,1024"), ("2,16,512,128", "2,8,512,128"), ("2,512,16,128", "2,512,8,128")):
        found = flops("FlashAttentionScore", f"{query};{keys};{keys}", "2,16,512,8;2,16,512,8;;2,512,2048")
        assert found == 4 * 2 * 16 * 512 * 512 * 128
    # Sequences that are packed have lengths of their own; a batch as long as the sequence could be either.
    assert flops("FlashAttentionScore", "900,16,128;900,16,128;900,16,128", "900,16,8;900,16,8;;900,16,128") is None
    assert flops("FlashAttentionScore", "8,8,128;8,8,128;8,8,128", "8,1,8,8;8,1,8,8;;8,8,128") is None


def test_backward_attention_recomputes_the_scores() -> None:
    inputs = "4096,1,2048;4096,1,1024;4096,1,1024;4096,1,2048;;1,16,4096,8;1,16,4096,8"
    assert flops("FlashAttentionScoreGrad", inputs, "4096,1,2048;4096,1,1024;4096,1,1024") == 10 * PAIRS * 128


def test_convolutions_in_blocks_of_channels() -> None:
    image, weights, out = "32,8,27,27,16", "200,12,16,16", "32,12,27,27,16"
    work = 2 * 32 * 27 * 27 * (8 * 16 * 25) * (12 * 16)
    assert flops("Conv2D", f"{image};{weights};192", out) == work
    assert flops("Conv2DBackpropInput", f"4;{weights};{out}", image) == work
    assert flops("Conv2DBackpropFilter", f"{image};4;{out}", weights) == work
    # Three channels are padded to sixteen.
    assert flops("Conv2D", "32,1,224,224,16;49,4,16,16;64", "32,4,112,112,16") is None
