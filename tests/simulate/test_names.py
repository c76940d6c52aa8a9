"""Kernels of the simulator are called so that their names tell the type that the job computes in."""

from __future__ import annotations

import pytest

from stepscope.model.kernel_names.classify import classify
from stepscope.simulate.devices import DEVICES
from stepscope.simulate.library_kernels import conv_name, gemm_name

TOLD_BY_NAME = [key for key, device in DEVICES.items() if device.vendor != "huawei"]


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("key", TOLD_BY_NAME)
def test_gemms_and_convolutions_use_tensor_cores_in_sixteen_bits(key: str, dtype: str) -> None:
    device = DEVICES[key]
    if dtype == "bf16" and device.capability[0] == 7:
        pytest.skip("there is no bf16 before Ampere")
    names = [conv_name(device, dtype, which) for which in ("fprop", "dgrad", "wgrad")]
    names.append(gemm_name(device, dtype, 128, "nt"))
    for name in names:
        told = classify(name)
        assert told.op_class in ("gemm", "convolution"), name
        if dtype == "fp32":
            assert not told.tensor_core or device.vendor == "amd", name
        else:
            assert told.tensor_core, name
            assert told.dtype in (dtype, None), name
