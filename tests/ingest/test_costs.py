"""Each operator's work is counted once, at the kernel that does it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from support import Facts, recorded_trace, shared, shared_traces

_MM = {"shapes": "[[4, 8], [8, 16]]", "dtypes": '["float", "float"]'}
_MM_FLOPS = 2 * 4 * 8 * 16
_MM_BYTES = 4 * (4 * 8 + 8 * 16 + 4 * 16)


def _kernels(facts: Facts) -> list[tuple[float | None, int | None]]:
    rows = facts.trace().sql("SELECT flops, bytes FROM kernels ORDER BY event").to_pylist()
    return [(row["flops"], row["bytes"]) for row in rows]


def test_an_operators_cost_goes_to_its_first_kernel_only() -> None:
    facts = Facts()
    op = facts.host("op", "aten::mm", 0, 100)
    facts.row("op_inputs", event=op, **_MM)
    facts.kernel("sgemm_splitk", 200, 50, launch=(10, 5))
    facts.kernel("splitKreduce_kernel", 260, 50, launch=(20, 5))
    assert _kernels(facts) == [(_MM_FLOPS, _MM_BYTES), (None, None)]


def test_the_kernel_of_the_costs_own_class_counts_before_an_earlier_one() -> None:
    facts = Facts()
    op = facts.host("op", "aten::mm", 0, 100)
    facts.row("op_inputs", event=op, **_MM)
    facts.kernel("void at::native::vectorized_elementwise_kernel<4, Fill>(int)", 200, 50, launch=(10, 5))
    facts.kernel("ampere_sgemm_128x64_nn", 260, 50, launch=(20, 5))
    assert _kernels(facts) == [(None, None), (_MM_FLOPS, _MM_BYTES)]


def test_the_innermost_of_equal_operators_counts() -> None:
    facts = Facts()
    linear = facts.host("op", "aten::linear", 0, 100)
    addmm = facts.host("op", "aten::addmm", 10, 80)
    facts.row("op_inputs", event=linear, shapes="[[4, 8], [16, 8], [16]]", dtypes='["float", "float", "float"]')
    facts.row("op_inputs", event=addmm, shapes="[[16], [4, 8], [8, 16]]", dtypes='["float", "float", "float"]')
    facts.kernel("void at::native::elementwise_kernel<Fill>(int)", 150, 10, launch=(5, 2))  # in linear alone
    facts.kernel("ampere_sgemm_128x64_nn", 200, 50, launch=(20, 5))
    flops = [flops for flops, _ in _kernels(facts)]
    assert flops[0] is None
    assert flops[1] is not None
    assert flops[1] >= _MM_FLOPS


def test_an_operator_without_a_formula_takes_that_of_the_one_around_it() -> None:
    facts = Facts()
    op = facts.host("op", "aten::mm", 0, 100)
    facts.row("op_inputs", event=op, **_MM)
    facts.host("op", "vendor::gemm", 10, 80)
    facts.host("op", "vendor::gemm_out", 15, 70)
    facts.kernel("some_kernel", 200, 50, launch=(20, 5))
    assert _kernels(facts) == [(_MM_FLOPS, _MM_BYTES)]


def test_work_far_below_an_operator_is_not_taken_for_it() -> None:
    facts = Facts()
    op = facts.host("op", "aten::mm", 0, 100)
    facts.row("op_inputs", event=op, **_MM)
    for depth in range(1, 6):
        facts.host("op", f"vendor::call{depth}", depth, 100 - 2 * depth)
    facts.kernel("some_kernel", 200, 50, launch=(20, 5))
    assert _kernels(facts) == [(None, None)]


def test_composed_attention_is_not_added_to_its_gemms() -> None:
    facts = Facts()
    sdpa = facts.host("op", "aten::scaled_dot_product_attention", 0, 200)
    inputs = "[[1, 2, 4, 8], [1, 2, 4, 8], [1, 2, 4, 8]]"
    facts.row("op_inputs", event=sdpa, shapes=inputs, dtypes='["float", "float", "float"]')
    mm = facts.host("op", "aten::mm", 10, 50)
    facts.row("op_inputs", event=mm, **_MM)
    facts.kernel("ampere_sgemm_128x64_nn", 300, 50, launch=(20, 5))
    facts.host("op", "vendor::softmax", 80, 50)
    facts.kernel("vendor_softmax", 360, 50, launch=(90, 5))
    assert _kernels(facts) == [(_MM_FLOPS, _MM_BYTES), (None, None)]


@pytest.mark.parametrize(
    "inputs", [{"shapes": None}, {"shapes": "[[4, 8"}, {"shapes": "7"}, {"shapes": '[[4, 8], "x"]', "dtypes": "{}"}]
)
def test_inputs_that_are_missing_or_broken_leave_the_cost_unknown(inputs: dict[str, str | None]) -> None:
    facts = Facts()
    op = facts.host("op", "aten::mm", 0, 100)
    facts.row("op_inputs", event=op, **inputs)
    facts.kernel("ampere_sgemm_128x64_nn", 200, 50, launch=(10, 5))
    facts.kernel("memcpy", 300, 50, launch=(20, 5), kind="copy")
    assert _kernels(facts) == [(None, None), (None, None)]


def test_sizes_that_cannot_be_true_are_unknown() -> None:
    facts = Facts()
    op = facts.host("op", "aten::mm", 0, 100)
    facts.row("op_inputs", event=op, shapes="[[10000000, 10000000], [10000000, 10000000]]", dtypes='["float", "float"]')
    facts.kernel("ampere_sgemm_128x64_nn", 200, 50, launch=(10, 5))
    assert _kernels(facts) == [(2e21, None)]


def test_order_and_other_columns_of_kernels_stay() -> None:
    facts = Facts()
    op = facts.host("op", "aten::mm", 0, 100)
    facts.row("op_inputs", event=op, **_MM)
    facts.kernel("ampere_sgemm_128x64_nn", 500, 50, launch=(10, 5), grid=[1, 2, 3], occupancy=0.5)
    facts.kernel("Memcpy HtoD", 200, 50, launch=(20, 5), kind="copy")
    trace = facts.trace()
    rows = trace.sql("SELECT ts, kind, grid, occupancy, flops FROM kernels").to_pylist()
    assert rows == [
        {"ts": 200, "kind": "copy", "grid": None, "occupancy": None, "flops": None},
        {"ts": 500, "kind": "compute", "grid": [1, 2, 3], "occupancy": 0.5, "flops": _MM_FLOPS},
    ]


def _published() -> list[str]:
    folder = shared_traces()
    found = sorted(folder.glob("kineto/*/expected_GEMM.csv")) if folder else []
    return [path.parent.name for path in found if "graphs" not in path.parent.name]


@pytest.mark.parametrize("recording", _published() or ["none"])
def test_flops_of_gemms_match_the_published_ones(recording: str) -> None:
    """Per call and in all; a wrapper (`aiter::gemm_a16w16`) is published beside the operator that it calls."""
    folder: Path = shared("kineto", recording)
    trace = recorded_trace(folder / "trace.json.gz")
    calls = trace.sql(
        "SELECT e.name, i.shapes, k.flops, count(*) AS n FROM kernels k JOIN events e ON e.id = k.op "
        "LEFT JOIN op_inputs i ON i.event = k.op WHERE k.flops IS NOT NULL GROUP BY ALL"
    ).to_pylist()
    found = {(call["name"], re.sub(r"\s", "", call["shapes"])): (call["flops"], call["n"]) for call in calls}
    csv.field_size_limit(1 << 24)
    with (folder / "expected_GEMM.csv").open(encoding="utf-8") as file:
        expected = [row for row in csv.DictReader(file) if row["name"].startswith("aten::")]
    assert expected
    for row in expected:
        shapes = json.dumps(json.loads(row["Input Dims_first"]), separators=(",", ":"))
        flops, count = found[row["name"], shapes]
        assert flops == pytest.approx(float(row["GFLOPS_first"]) * 1e9, rel=1e-9)
        assert count == int(row["name_count"])
