"""Model FLOPs utilisation."""

from __future__ import annotations

import pytest

from stepscope.analyses.kernels.mfu import mfu
from stepscope.model.errors import MissingInputError
from support import Facts

_GEMM = "ampere_bf16_s16816gemm_bf16_128x128"


def gemm(f: Facts, ts: int, dur: int, dtype: str = "c10::BFloat16", kernel: str = _GEMM) -> None:
    op = f.host("op", "aten::mm", ts, 20)
    f.row("op_inputs", event=op, shapes="[[64, 64], [64, 64]]", dtypes=f'["{dtype}", "{dtype}"]')
    f.kernel(kernel, ts + 30, dur, launch=(ts + 5, 5))


def test_each_step_and_the_whole_against_the_peak() -> None:
    f = Facts()
    f.row("devices", device=0, name="NVIDIA A100-SXM4-80GB")
    f.step(0, 0, 200)
    gemm(f, 10, 100)
    gemm(f, 40, 50)
    f.step(1, 200, 100)
    f.kernel(_GEMM, 250, 50, launch=(210, 5))  # no operator
    first, second, whole = mfu(f.trace()).records()
    flops = 2 * 2 * 64**3
    assert (first["step"], first["total_ns"], first["flops"], first["dtype"]) == (0, 200, flops, "bf16")
    assert (first["peak_flop_rate"], first["covered"]) == (312e12, 1.0)
    assert first["mfu"] == pytest.approx(flops / (200e-9 * 312e12))
    assert (second["step"], second["flops"], second["peak"], second["mfu"]) == (1, 0, None, None)
    assert second["covered"] == 0.0
    assert (whole["step"], whole["total_ns"], whole["flops"], whole["covered"]) == (None, 260, flops, 0.75)


def test_the_type_with_most_work_decides_the_peak() -> None:
    f = Facts()
    f.row("devices", device=0, name="NVIDIA A100-SXM4-80GB")
    gemm(f, 10, 100, "double", "cutlass_80_wmma_unknown_gemm")
    gemm(f, 110, 100)
    gemm(f, 210, 100)
    assert mfu(f.trace()).column("dtype") == ["bf16", "bf16"]


def test_an_unknown_device_is_named() -> None:
    f = Facts()
    f.row("devices", device=0, name="Frobnicator 9000")
    gemm(f, 10, 100)
    with pytest.raises(MissingInputError, match="Frobnicator 9000"):
        mfu(f.trace())


def test_without_shapes_it_abstains() -> None:
    f = Facts()
    f.row("devices", device=0, name="NVIDIA A100-SXM4-80GB")
    f.kernel(_GEMM, 250, 50, launch=(210, 5))
    with pytest.raises(MissingInputError, match="no shapes"):
        mfu(f.trace())
