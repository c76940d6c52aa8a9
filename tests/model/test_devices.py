"""The table of devices, and element types."""

from __future__ import annotations

import pytest

from stepscope.model.device_table.ascend import cube_rates
from stepscope.model.devices import DEVICES, match
from stepscope.model.dtypes import canonical, itemsize


@pytest.mark.parametrize(
    ("recorded", "name", "units"),
    [
        ("Tesla V100-SXM2-32GB", "V100-SXM2-32GB", 80),
        ("Tesla V100-SXM2-16GB", "V100-SXM2-16GB", 80),
        ("Tesla V100-DGXS-32GB", "V100-SXM2-32GB", 80),
        ("Tesla T4", "T4", 40),
        ("NVIDIA A10", "A10", 72),
        ("NVIDIA A10G", "A10G", 80),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB", 108),
        ("NVIDIA A100-PG509-200", "A100-SXM4-40GB", 108),
        ("NVIDIA A100 80GB PCIe", "A100-PCIE-80GB", 108),
        ("NVIDIA L4", "L4", 58),
        ("NVIDIA L40S", "L40S", 142),
        ("Quadro RTX 6000", "Quadro RTX 6000", 72),
        ("NVIDIA H100 80GB HBM3", "H100-SXM5-80GB", 132),
        ("NVIDIA H100 PCIe", "H100-PCIE-80GB", 114),
        ("NVIDIA H100 NVL", "H100-NVL", 132),
        ("NVIDIA H20", "H20", 78),
        ("NVIDIA H200", "H200-SXM-141GB", 132),
        ("NVIDIA H800", "H800-SXM5-80GB", 132),
        ("NVIDIA GH200 480GB", "GH200-96GB", 132),
        ("NVIDIA B200", "B200", 148),
        ("AMD Instinct MI210", "MI210", 104),
        ("AMD Instinct MI250X/MI250", "MI250X (one die)", 110),
        ("AMD Instinct MI300X", "MI300X", 304),
        ("AMD Instinct MI300X VF", "MI300X", 304),
        ("Ascend910B3", "Ascend 910B3", 20),
        ("Ascend910_9391", "Ascend 910C (one die)", 24),
        ("Ascend910A", "Ascend 910A", 32),
        ("ARTEMIS", "MTIA 2i", 64),
    ],
)
def test_recorded_names(recorded: str, name: str, units: int) -> None:
    found = match(recorded)
    assert found is not None
    assert (found.name, found.units) == (name, units)


@pytest.mark.parametrize(
    "recorded",
    [
        None,
        "",
        "AMD Radeon Graphics",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA H800 PCIe",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    ],
)
def test_unknown_devices_have_no_peak(recorded: str | None) -> None:
    assert match(recorded) is None


# Read from the recorded device properties: resident threads per SM or CU, warp size, memory.
@pytest.mark.parametrize(
    ("recorded", "threads", "warp", "memory"),
    [
        ("Tesla V100-SXM2-32GB", 2048, 32, 34_079_637_504),
        ("NVIDIA H100 80GB HBM3", 2048, 32, 85_018_279_936),
        ("NVIDIA B200", 2048, 32, 191_503_138_816),
        ("AMD Instinct MI210", 2048, 64, 68_702_699_520),
        ("AMD Instinct MI300X", 2048, 64, 206_141_652_992),
        ("Quadro RTX 6000", 1024, 32, 25_365_381_120),
        ("NVIDIA A100-SXM4-80GB", 2048, 32, 85_095_874_560),
    ],
)
def test_agrees_with_what_recordings_say(recorded: str, threads: int, warp: int, memory: int) -> None:
    found = match(recorded)
    assert found is not None
    assert found.memory_bytes is not None
    assert (found.max_threads, found.warp_size) == (threads, warp)
    # Drivers keep up to two percent of the memory for themselves.
    assert 0.98 * found.memory_bytes <= memory <= found.memory_bytes


def test_peak_by_unit() -> None:
    a100 = match("NVIDIA A100-SXM4-80GB")
    assert a100 is not None
    assert a100.peak("bf16", tensor_core=True) == 312 * 10**12
    assert a100.peak("fp32", tensor_core=False) == 19_500 * 10**9
    assert a100.peak("fp32", tensor_core=True) is None
    assert a100.peak("fp64") == 19_500 * 10**9
    assert a100.peak("fp8") is None


def test_every_row_is_plausible_and_has_a_source() -> None:
    assert len({device.name for device in DEVICES}) == len(DEVICES)
    for device in DEVICES:
        assert device.source
        assert device.memory_bandwidth is None or 10**11 < device.memory_bandwidth < 10**13
        assert all(10**11 < rate < 2 * 10**16 for rate in (*device.vector.values(), *device.matrix.values()))
        for narrow, wide in (("fp8", "bf16"), ("fp16", "tf32"), ("bf16", "tf32")):
            if narrow in device.matrix and wide in device.matrix:
                assert device.matrix[narrow] >= device.matrix[wide]


def test_cube_rates_follow_cores_and_clock() -> None:
    # 20 cores x 1500 MHz x 16 x 16 x 16 x 2
    assert cube_rates(20, 1500)["fp16"] == 245_760 * 10**9
    assert cube_rates(20, 1500)["int8"] == 491_520 * 10**9


@pytest.mark.parametrize(
    ("recorded", "name", "size"),
    [
        ("c10::BFloat16", "bf16", 2),
        ("torch.float16", "fp16", 2),
        ("float", "fp32", 4),
        ("long int", "int64", 8),
        ("long", "int64", 8),
        ("c10::Float8_e4m3fn", "fp8", 1),
        ("unsigned char", "uint8", 1),
        ("c10::complex<float>", "complex64", 8),
        ("FLOAT16", "fp16", 2),
        ("DT_BF16", "bf16", 2),
        ("Scalar", None, None),
        ("TensorList", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_element_types(recorded: str | None, name: str | None, size: int | None) -> None:
    assert (canonical(recorded), itemsize(recorded)) == (name, size)


@pytest.mark.parametrize(
    ("name", "bandwidth", "sixteen_bits"),
    [
        ("NVIDIA GB10", 273e9, 118.8e12),
        ("NVIDIA RTX A5000", 768e9, 111.1e12),
        ("NVIDIA RTX A6000", 768e9, 154.8e12),
        ("NVIDIA GeForce RTX 3060", 360e9, 25.5e12),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", 336e9, 26.2e12),
        ("NVIDIA RTX 500 Ada Generation Laptop GPU", 128e9, 36.8e12),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 576e9, 66e12),
    ],
)
def test_desktops_and_laptops_have_rows_of_their_own(name: str, bandwidth: float, sixteen_bits: float) -> None:
    found = match(name)
    assert found is not None
    assert (found.memory_bandwidth, found.matrix["fp16"]) == (round(bandwidth), round(sixteen_bits))
