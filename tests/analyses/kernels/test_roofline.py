"""Operators against the roofline of their device."""

from __future__ import annotations

import csv
import json

import pytest

from stepscope.analyses.kernels.roofline import roofline, roofline_shapes
from stepscope.model.devices import match
from stepscope.model.errors import MissingInputError
from support import Facts, recorded_trace, shared

_A100 = "NVIDIA A100-SXM4-80GB"
_N = 4096


def mm(f: Facts, ts: int, dur: int, *, kernel: str = "ampere_bf16_s16816gemm_bf16_128x128", n: int = _N) -> None:
    op = f.host("op", "aten::mm", ts, 100)
    f.row("op_inputs", event=op, shapes=f"[[{n}, {n}], [{n}, {n}]]", dtypes='["c10::BFloat16", "c10::BFloat16"]')
    f.kernel(kernel, ts + 200, dur, launch=(ts + 10, 5))


def test_a_large_gemm_is_bound_by_compute() -> None:
    f = Facts()
    f.row("devices", device=0, name=_A100)
    mm(f, 0, 1_000_000)
    mm(f, 2_000_000, 500_000)
    [row] = roofline(f.trace()).records()
    flops = 2 * 2 * _N**3
    assert (row["name"], row["count"], row["total_ns"], row["median_ns"]) == ("aten::mm", 2, 1_500_000, 500_000)
    assert (row["flops"], row["bytes"]) == (flops, 2 * 3 * 2 * _N**2)
    assert (row["peak_flop_rate"], row["bound"], row["dtype"], row["op_class"]) == (312e12, "compute", "bf16", "gemm")
    assert row["least_ns"] == 2 * int(flops / 2 / 312e12 * 1e9)
    assert row["efficiency"] == row["least_ns"] / 1_500_000
    assert row["flop_rate"] == pytest.approx(flops / 1.5e-3)
    assert row["intensity"] == pytest.approx(flops / row["bytes"])


def test_an_elementwise_operator_is_bound_by_memory() -> None:
    f = Facts()
    f.row("devices", device=0, name=_A100)
    op = f.host("op", "aten::add", 0, 100)
    f.row("op_inputs", event=op, shapes=f"[[{_N}, {_N}], [{_N}, {_N}], []]", dtypes='["float", "float", "Scalar"]')
    f.kernel("void at::native::vectorized_elementwise_kernel<4, Add>", 200, 200_000, launch=(10, 5))
    [row] = roofline(f.trace()).records()
    device = match(_A100)
    assert device is not None
    assert device.memory_bandwidth is not None
    assert (row["bound"], row["bytes"]) == ("memory", 3 * 4 * _N**2)
    assert row["least_ns"] == int(row["bytes"] * 1e9 / device.memory_bandwidth)
    assert row["peak"].endswith("fp32 vector")


def test_what_is_faster_than_memory_came_from_a_cache() -> None:
    f = Facts()
    f.row("devices", device=0, name="NVIDIA A100-SXM4-80GB")
    for ts, dur in ((100, 1), (200_000, 100_000)):
        op = f.host("op", "aten::relu" if dur > 1 else "aten::neg", ts, 50)
        f.row("op_inputs", event=op, shapes="[[1024, 1024]]", dtypes='["float"]')
        f.kernel("vectorized_elementwise_kernel", ts + 60, dur, launch=(ts + 1, 5))
    rows = {row["name"]: row for row in roofline(f.trace()).records()}
    assert rows["aten::neg"]["bound"] == "cache"
    assert rows["aten::neg"]["efficiency"] > 1
    assert rows["aten::relu"]["bound"] == "memory"


def test_every_kernel_of_the_operator_counts_as_its_time() -> None:
    f = Facts()
    f.row("devices", device=0, name=_A100)
    op = f.host("op", "aten::mm", 0, 100)
    f.row("op_inputs", event=op, shapes="[[8, 8], [8, 8]]", dtypes='["float", "float"]')
    f.kernel("ampere_sgemm_32x32_sliced1x4_nn", 200, 30, launch=(10, 5))
    f.kernel("splitKreduce_kernel", 240, 12, launch=(20, 5))
    [row] = roofline(f.trace()).records()
    assert (row["total_ns"], row["count"]) == (42, 1)


def test_shapes_are_told_apart_in_their_own_table() -> None:
    f = Facts()
    mm(f, 0, 100)
    mm(f, 1000, 300, n=128)
    trace = f.trace()
    assert len(roofline(trace)) == 1
    assert [(json.loads(r["shapes"])[0], r["total_ns"]) for r in roofline_shapes(trace).records()] == [
        ([128, 128], 300),
        ([_N, _N], 100),
    ]


def test_an_unknown_device_or_type_leaves_the_peak_open() -> None:
    f = Facts()
    f.row("devices", device=0, name="Frobnicator 9000")
    mm(f, 0, 1000)
    [row] = roofline(f.trace()).records()
    assert row["flop_rate"] is not None
    assert all(row[name] is None for name in ("peak", "peak_flop_rate", "peak_byte_rate", "least_ns", "efficiency"))
    assert row["bound"] is None


def test_a_device_that_is_not_described_is_like_the_described_ones() -> None:
    f = Facts()
    f.row("devices", device=5, name=_A100)
    mm(f, 0, 1000)
    [row] = roofline(f.trace()).records()
    assert row["peak_flop_rate"] == 312e12


def test_no_time_gives_no_rate() -> None:
    f = Facts()
    f.row("devices", device=0, name=_A100)
    mm(f, 0, 0)
    [row] = roofline(f.trace()).records()
    assert row["flop_rate"] is row["byte_rate"] is row["efficiency"] is None


def test_without_shapes_it_abstains() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 100)
    f.kernel("ampere_sgemm_128x64_nn", 200, 50, launch=(10, 5))
    with pytest.raises(MissingInputError, match="no shapes"):
        roofline(f.trace())


@pytest.mark.parametrize(
    "recording", ["h100_bert_small", "mi300_bert_small", "mi300_compile_triton", "h100_qwen05b_infer"]
)
def test_times_of_gemms_match_the_published_ones(recording: str) -> None:
    folder = shared("kineto", recording)
    found = {
        (row["name"], row["shapes"]): row for row in roofline_shapes(recorded_trace(folder / "trace.json.gz")).records()
    }
    csv.field_size_limit(1 << 24)
    with (folder / "expected_GEMM.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            mine = found[row["name"], json.dumps(json.loads(row["Input Dims_first"]), separators=(",", ":"))]
            # The published times went through doubles of microseconds.
            assert mine["total_ns"] == pytest.approx(float(row["Kernel Time (µs)_sum"]) * 1000, rel=1e-4)
            assert mine["flop_rate"] == pytest.approx(
                float(row["GFLOPS_first"]) * int(row["name_count"]) * 1e12 / float(row["Kernel Time (µs)_sum"]) / 1e-3,
                rel=1e-4,
            )
