"""FLOPs and bytes of operators, from worked examples and from published results of real recordings."""

from __future__ import annotations

import ast
import csv
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.model.opcost import KNOWN, OpCost, cost
from support import shared

BF16 = "c10::BFloat16"


def test_gemms() -> None:
    assert cost("aten::mm", [[2, 3], [3, 5]], [BF16] * 2) == OpCost(60, (6 + 15) * 2, 20, "gemm")
    # The bias is one addition per element of the result.
    assert cost("aten::addmm", [[5], [2, 3], [3, 5], [], []], ["float"] * 3 + ["Scalar"] * 2) == OpCost(
        70, 104, 40, "gemm"
    )
    assert cost("aten::mm", [[2, 3], [3, 5], [2, 5]], [BF16] * 3) == OpCost(60, 42, 20, "gemm")
    assert cost("aten::bmm", [[4, 2, 3], [4, 3, 5]], ["float"] * 2) == OpCost(240, (24 + 60) * 4, 160, "gemm")
    assert cost("aten::linear", [[7, 2, 3], [5, 3], [5]], ["float"] * 3) == OpCost(490, (42 + 15 + 5) * 4, 280, "gemm")
    assert cost("aten::linear", [[2, 3], [5, 3], []], ["float", "float", ""]) == OpCost(60, 84, 40, "gemm")
    assert cost("aten::matmul", [[7, 1, 2, 3], [4, 3, 5]], ["float"] * 2) == OpCost(
        28 * 60, (42 + 60) * 4, 1120, "gemm"
    )
    assert cost("aten::matmul", [[3], [3]], ["float"] * 2) == OpCost(6, 24, 4, "gemm")


def test_scaled_gemms_have_the_type_they_ask_for() -> None:
    shapes: list[Any] = [[2, 32], [32, 16], [], [], [], [], [], []]
    dtypes = ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"]
    found = cost("aten::_scaled_mm", shapes, dtypes, ["", "", "", "", "", "", "15", "True"])
    assert found == OpCost(2 * 2 * 32 * 16, 64 + 512, 2 * 16 * 2, "gemm")


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        ("aten::mm", [[2, 3], [4, 5]]),
        ("aten::mm", [[2, 3]]),
        ("aten::mm", [[2, 3], "5"]),
        ("aten::mm", [[2, -3], [-3, 5]]),
        ("aten::bmm", [[4, 2, 3], [5, 3, 5]]),
        ("aten::mm", [[2, 3], [3, 5], [3, 5]]),
        ("aten::matmul", [[7, 2, 3], [4, 3, 5]]),
        # TorchScript's whole stack: the operator's own arguments are the last three.
        ("aten::linear", [[2048, 512], [200, 512], [7], [2048, 512], [10, 512], [10]]),
        ("aten::einsum", [[], [[2, 3], [3, 5]]]),
        ("my::op", [[2, 3], [3, 5]]),
    ],
)
def test_contradictions_have_no_answer(op: str, shapes: list[Any]) -> None:
    assert cost(op, shapes, ["float"] * len(shapes)) is None


def test_flops_need_no_types_but_bytes_do() -> None:
    assert cost("aten::mm", [[2, 3], [3, 5]]) == OpCost(60, None, None, "gemm")
    found = cost("aten::mm", [[2, 3], [3, 5]])
    assert found is not None
    assert found.bytes is None


def test_convolution_forward() -> None:
    shapes: list[Any] = [[2, 8, 10, 10], [16, 4, 3, 3], [16], [], [], [], [], [], []]
    dtypes = ["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"]
    concrete = ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"]
    # (10 + 2 - 2 - 1) // 2 + 1 = 5
    outputs = 2 * 16 * 5 * 5
    found = cost("aten::convolution", shapes, dtypes, concrete)
    assert found == OpCost(outputs * 2 * 4 * 9 + outputs, (1600 + 576 + 16) * 4, outputs * 4, "convolution")
    assert cost("aten::convolution", shapes, dtypes) is None
    assert cost("aten::convolution", shapes, dtypes, [*concrete[:3], "[0, 0]", *concrete[4:]]) is None
    named = cost(
        "aten::miopen_convolution", shapes, dtypes, ["", "", "", "[1, 1]", "[2, 2]", "[1, 1]", "2", "False", "False"]
    )
    assert named == found


def test_transposed_convolution_counts_its_inputs() -> None:
    shapes: list[Any] = [[1, 6, 4, 4], [6, 3, 2, 2], [], [], [], [], [], [], []]
    dtypes = ["float", "float", "", *["ScalarList"] * 3, "Scalar", "ScalarList", "Scalar"]
    concrete = ["", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"]
    found = cost("aten::convolution", shapes, dtypes, concrete)
    assert found == OpCost(2 * 6 * 16 * 3 * 4, (96 + 72) * 4, 3 * 64 * 4, "convolution")


def test_convolution_backward_counts_the_gradients_wanted() -> None:
    shapes: list[Any] = [[2, 16, 5, 5], [2, 8, 10, 10], [16, 8, 3, 3], *[[]] * 8]
    dtypes = ["float"] * 3 + ["ScalarList"] * 4 + ["Scalar", "ScalarList", "Scalar", "ScalarList"]
    head = ["", "", "", "[0]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
    one = 2 * 800 * 8 * 9
    both = cost("aten::convolution_backward", shapes, dtypes, [*head, "[True, True, False]"])
    assert both == OpCost(2 * one, (800 + 1152 + 1600) * 4, (1600 + 1152) * 4, "convolution")
    weight = cost("aten::convolution_backward", shapes, dtypes, [*head, "[False, True, True]"])
    assert weight == OpCost(one + 800, (800 + 1600) * 4, (1152 + 16) * 4, "convolution")


def test_convolution_gradient_by_input_of_old_versions() -> None:
    shapes: list[Any] = [[], [32, 2048, 7, 7], [2048, 512, 1, 1], *[[]] * 7]
    dtypes = ["GenericList", "float", "float", *["GenericList"] * 3, "Int", "Bool", "Bool", "Bool"]
    op = "aten::cudnn_convolution_backward_input"
    read = (32 * 2048 * 49 + 2048 * 512) * 4
    assert cost(op, shapes, dtypes) == OpCost(2 * 32 * 49 * 2048 * 512, read, None, "convolution")
    shapes[2] = [512, 512, 1, 1]
    assert cost(op, shapes, dtypes) is None


def _attention(op: str, shape: list[int], place: int, value: str, extra: int = 0) -> OpCost | None:
    shapes: list[Any] = [shape] * (3 + extra) + [[]] * 12
    dtypes = [BF16] * (3 + extra) + [""] * 12
    concrete = [""] * len(shapes)
    concrete[place] = value
    return cost(op, shapes, dtypes, concrete)


def test_attention() -> None:
    full = 4 * 2 * 8 * 64 * 64 * 32
    moved = 2 * 8 * 64 * 32 * 2
    heads_first, heads_last = [2, 8, 64, 32], [2, 64, 8, 32]
    flash = "aten::_scaled_dot_product_flash_attention"
    assert _attention(flash, heads_first, 4, "False") == OpCost(full, 3 * moved, moved, "attention")
    assert _attention(flash, heads_first, 4, "True") == OpCost(full // 2, 3 * moved, moved, "attention")
    assert _attention("aten::_flash_attention_forward", heads_last, 8, "True") == _attention(
        flash, heads_first, 4, "True"
    )
    assert _attention("aten::_efficient_attention_forward", heads_last, 9, "0") == _attention(
        flash, heads_first, 4, "False"
    )
    assert _attention(flash, heads_first, 3, "0.") is None  # whether it is causal was not recorded
    back = _attention(f"{flash}_backward", heads_first, 11, "True", extra=1)
    assert back == OpCost(full * 5 // 4, 5 * moved, 3 * moved, "attention")


@pytest.mark.parametrize(
    ("op", "heads_first", "place", "causal"),
    [
        ("aten::_scaled_dot_product_efficient_attention_backward", True, 11, "True"),
        ("aten::_scaled_dot_product_cudnn_attention_backward", True, 14, "True"),
        ("aten::_scaled_dot_product_fused_attention_overrideable_backward", True, 13, "True"),
        ("aten::_flash_attention_backward", False, 11, "True"),
        ("aten::_efficient_attention_backward", False, 14, "1"),
        ("flash_attn::_flash_attn_backward", False, 11, "True"),
    ],
)
def test_every_backward_pass_of_attention(op: str, heads_first: bool, place: int, causal: str) -> None:
    """Five GEMMs of 2 x queries x keys x size each, and a causal mask halves them."""
    shape = [2, 8, 64, 32] if heads_first else [2, 64, 8, 32]
    whole = 5 * 2 * (2 * 8) * 64 * 64 * 32
    for value, flops in ((causal, whole // 2), ({"1": "0"}.get(causal, "False"), whole)):
        found = _attention(op, shape, place, value, extra=1)
        assert found is not None
        assert found.flops == flops


def test_attention_with_fewer_key_heads_reads_less() -> None:
    shapes: list[Any] = [[1, 32, 128, 64], [1, 8, 128, 64], [1, 8, 128, 64], [], [], [], []]
    concrete = ["", "", "", "0.", "False", "False", ""]
    found = cost("aten::_scaled_dot_product_flash_attention", shapes, [BF16] * 3 + ["Scalar"] * 4, concrete)
    assert found is not None
    assert found.flops == 4 * 32 * 128 * 128 * 64
    assert found.bytes_read == (32 + 8 + 8) * 128 * 64 * 2


def test_a_causal_rectangle_has_no_answer_unless_there_is_one_query() -> None:
    def found(queries: int) -> OpCost | None:
        shapes: list[Any] = [[1, 8, queries, 64], [1, 8, 128, 64], [1, 8, 128, 64], [], [], [], []]
        return cost("aten::_scaled_dot_product_flash_attention", shapes, [BF16] * 3, ["", "", "", "0.", "True", "", ""])

    assert found(7) is None
    one = found(1)
    assert one is not None
    assert one.flops == 4 * 8 * 128 * 64


def test_packed_sequences_have_no_answer() -> None:
    shapes: list[Any] = [[4096, 8, 64]] * 3 + [[9], [9], [], [], [], [], []]
    assert cost("aten::_flash_attention_forward", shapes, [BF16] * 3 + ["int", "int"], ["False"] * 10) is None


def test_pointwise() -> None:
    assert cost("aten::add", [[4, 1], [3], []], ["float", "float", "Scalar"]) == OpCost(12, 28, 48, "elementwise")
    assert cost("aten::mul_", [[4, 3], [3]], [BF16, "float"]) == OpCost(12, 36, 24, "elementwise")
    assert cost("aten::eq", [[4], []], ["long int", "Scalar"]) == OpCost(4, 32, 4, "elementwise")
    assert cost("aten::mul", [[4], [4]], [BF16, "float"]) == OpCost(4, 24, 16, "elementwise")
    # A scalar tensor does not widen the result.
    assert cost("aten::mul", [[4], []], [BF16, "float"]) == OpCost(4, 12, 8, "elementwise")
    assert cost("aten::add.Tensor", [[4], [4], []], ["float", "float", "Scalar"]) == OpCost(4, 32, 16, "elementwise")
    assert cost("aten::add", [[4], [3], []], ["float", "float", "Scalar"]) is None


def test_reductions() -> None:
    assert cost("aten::sum", [[4, 6]], ["float"]) == OpCost(24, 96, 4, "reduction")
    listed = ["", "[1]", "False", ""]
    assert cost("aten::sum", [[4, 6], [], [], []], ["float", "", "Scalar", ""], listed) == OpCost(
        24, 96, 16, "reduction"
    )
    assert cost("aten::argmax", [[4, 6], [], []], ["float", "Scalar", "Scalar"], ["", "-1", "False"]) == OpCost(
        24, 96, 32, "reduction"
    )
    assert cost("aten::sum", [[4, 6], [], [], []], ["float", "", "Scalar", ""]) is None
    assert cost("aten::sum", [[4, 6], [], [], []], ["float", "", "Scalar", ""], ["", "[7]", "False", ""]) is None
    assert cost("aten::max", [[4], [4]], ["float", "float"]) is None
    assert cost("aten::_softmax", [[4, 6], [], []], ["float", "Scalar", "Scalar"]) == OpCost(120, 96, 96, "reduction")


def test_norms() -> None:
    shapes: list[Any] = [[10, 16], [], [16], [16], []]
    found = cost("aten::native_layer_norm", shapes, ["float", "ScalarList", "float", "float", "Scalar"])
    assert found == OpCost(7 * 160, (160 + 32) * 4, 640, "normalisation")
    images: list[Any] = [[2, 4, 3, 3], [4], [4], [4], [4], [], [], []]
    dtypes = ["float"] * 5 + ["Scalar"] * 3
    training = cost("aten::native_batch_norm", images, dtypes, [""] * 5 + ["True", "0.1", "1e-5"])
    serving = cost("aten::native_batch_norm", images, dtypes, [""] * 5 + ["False", "0.1", "1e-5"])
    assert training is not None
    assert serving is not None
    assert (training.flops, serving.flops) == (7 * 72, 4 * 72)


def test_movement() -> None:
    assert cost("aten::copy_", [[4], [4], []], [BF16, "float", "Scalar"]) == OpCost(0, 16, 8, "copy")
    to = [[4], [], [], [], [], [], []]
    dtypes = ["float", "Scalar", "", "", "", "Scalar", ""]
    assert cost("aten::_to_copy", to, dtypes, ["", "15", "", "", "", "False", ""]) == OpCost(0, 16, 8, "copy")
    assert cost("aten::_to_copy", to, dtypes, ["", "", "", "", "", "False", ""]) == OpCost(0, 16, 16, "copy")
    unknown = cost("aten::_to_copy", to, dtypes)
    assert unknown is not None
    assert unknown.bytes is None
    assert cost("aten::cat", [[[4], [5]], []], ["TensorList", "Scalar"]) == OpCost(0, None, None, "copy")
    assert cost("aten::zero_", [[4]], ["float"]) == OpCost(0, 0, 16, "elementwise")
    # Ten rows of eight, not the table of a thousand.
    looked_up = cost(
        "aten::embedding", [[1000, 8], [10], [], [], []], ["float", "long int", "Scalar", "Scalar", "Scalar"]
    )
    assert looked_up == OpCost(0, 320 + 80, 320, "embedding")
    selected = cost("aten::index_select", [[100, 8], [], [10]], ["float", "Scalar", "long int"], ["", "0", ""])
    assert selected == OpCost(0, 320 + 80, 320, "embedding")


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just("[1, 1]"),
    lambda children: st.lists(children, max_size=5),
    max_leaves=12,
)


@given(
    st.sampled_from(sorted(KNOWN)),
    st.lists(_JUNK, max_size=6),
    st.lists(_JUNK, max_size=6),
    st.lists(_JUNK, max_size=6),
)
def test_no_recording_fails(op: str, shapes: list[Any], dtypes: list[Any], concrete: list[Any]) -> None:
    found = cost(op, shapes, dtypes, concrete)
    assert found is None or found.flops >= 0


@pytest.mark.parametrize(
    ("trace", "table"),
    [
        *(
            (trace, "GEMM")
            for trace in ("h100_bert_small", "h100_qwen05b_infer", "mi300_bert_small", "mi300_qwen05b_infer")
        ),
        *(
            (trace, "GEMM")
            for trace in ("mi300_compile_triton", "mi300_resnet_recompute_ddp8", "mi300_sglang_prefilldecode")
        ),
        ("rocm_vllm_piecewise_graphs", "GEMM"),
        *((trace, "SDPA_fwd") for trace in ("h100_bert_small", "h100_qwen05b_infer", "mi300_bert_small")),
        *((trace, "SDPA_fwd") for trace in ("mi300_qwen05b_infer", "mi300_compile_triton")),
    ],
)
def test_agrees_with_published_results(trace: str, table: str) -> None:
    path = shared("kineto", trace, f"expected_{table}.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    for row in rows:
        columns = ("Input Dims_first", "Input type_first", "Concrete Inputs_first")
        found = cost(row["name"], *(ast.literal_eval(row[column]) for column in columns))
        assert found is not None
        assert found.flops == pytest.approx(float(row["GFLOPS_first"]) * 1e9, rel=1e-9)
        assert found.bytes == pytest.approx(float(row["Data Moved (MB)_first"]) * 2**20, rel=1e-9)


def test_convolutions_of_a_recorded_resnet18() -> None:
    path = shared("kineto", "mi300_resnet_recompute_ddp8", "trace.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    flops = {"aten::miopen_convolution": 0, "aten::convolution_backward": 0}
    for event in events:
        if event.get("name") in flops:
            args = event["args"]
            found = cost(event["name"], args["Input Dims"], args["Input type"], args["Concrete Inputs"])
            assert found is not None
            flops[event["name"]] += found.flops
    # He et al., Deep Residual Learning (2016), table 1: 1.8e9 multiply-adds an image, of which the first layer has
    # 112 x 112 x 64 x 3 x 7 x 7. Three steps of ten images; every convolution but the first is computed again, and the
    # first has no gradient by its input.
    first = 2 * 10 * 112 * 112 * 64 * 3 * 49
    whole, rest = divmod(flops["aten::miopen_convolution"] + 3 * first, 6)
    assert rest == 0
    assert whole / 20e9 == pytest.approx(1.8, rel=0.01)
    assert flops["aten::convolution_backward"] == 3 * (2 * whole - first)


def test_where_the_result_goes_is_written_and_not_read() -> None:
    plain = cost("aten::clamp_min", [[4, 8], []], ["float", "Int"])
    assert plain == OpCost(32, 128, 128, "elementwise")
    assert cost("aten::clamp_min", [[4, 8], [], [4, 8]], ["float", "Int", "float"]) == plain
    assert cost("aten::add", [[8], [8], [], [8]], ["float", "float", "Int", "double"]) == OpCost(
        8, 64, 64, "elementwise"
    )
    assert cost("aten::eq", [[8], [8]], ["float"] * 2) == OpCost(8, 64, 8, "elementwise")
    assert cost("aten::where", [[8], [8], [8]], ["bool", "float", "float"]) == OpCost(8, 72, 32, "elementwise")


def test_a_lookup_reads_no_more_than_the_table() -> None:
    wide = [[10, 8], [], [1000, 8]]
    assert cost("aten::gather", wide, ["float", "Scalar", "long int"]) == OpCost(
        0, 10 * 8 * 4 + 8000 * 8, 8000 * 4, "embedding"
    )
    few = [[1000, 8], [], [10, 8]]
    assert cost("aten::gather", few, ["float", "Scalar", "long int"]) == OpCost(0, 80 * 4 + 80 * 8, 80 * 4, "embedding")
    assert cost("aten::embedding", [[10, 8], [1000]], ["float", "long int"]) == OpCost(
        0, 320 + 8000, 32_000, "embedding"
    )
