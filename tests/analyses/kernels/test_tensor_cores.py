"""Use of tensor cores."""

from __future__ import annotations

import pytest

from stepscope.analyses.kernels.tensor_cores import tensor_cores
from stepscope.model.errors import MissingInputError
from support import Facts

_USES = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn"
_DOES_NOT = "ampere_sgemm_128x64_nn"


def test_eligible_time_is_used_unused_or_unknown() -> None:
    f = Facts()
    f.row("devices", device=0, name="NVIDIA A100-SXM4-80GB")
    f.kernel(_USES, 0, 60)
    f.kernel(_DOES_NOT, 100, 30)
    f.kernel("attn_fwd", 150, 10)
    f.kernel("void at::native::vectorized_elementwise_kernel<4, Add>", 200, 100)
    f.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 400, 500)
    whole, *rows = tensor_cores(f.trace()).records()
    assert (whole["op_class"], whole["dtype"], whole["count"], whole["total_ns"]) == (None, None, 3, 100)
    assert (whole["used_ns"], whole["unused_ns"], whole["unknown_ns"]) == (60, 30, 10)
    assert (whole["used_share"], whole["device_share"], whole["available"]) == (60 / 90, 0.5, True)
    assert [(r["op_class"], r["dtype"], r["used_ns"], r["unused_ns"], r["available"]) for r in rows] == [
        ("gemm", "bf16", 60, 0, True),
        ("gemm", "fp32", 0, 30, False),
        ("attention", None, 0, 0, True),
    ]


def test_a_device_without_eligible_kernels_has_no_rows() -> None:
    f = Facts()
    f.kernel("void at::native::vectorized_elementwise_kernel<4, Add>", 200, 100)
    assert len(tensor_cores(f.trace())) == 0


def test_an_unknown_device_leaves_open_what_it_has() -> None:
    f = Facts()
    f.kernel(_USES, 0, 60, device=None)
    table = tensor_cores(f.trace())
    assert table.column("available") == table.column("device") == [None, None]


def test_without_kernels_it_abstains() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 10)
    with pytest.raises(MissingInputError):
        tensor_cores(f.trace())
