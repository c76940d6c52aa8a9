"""Devices as users write them."""

from __future__ import annotations

import pytest

from stepscope.model.errors import UserError
from stepscope.planning.machine.spelling import platform


@pytest.mark.parametrize(
    ("written", "name", "gib", "tflops"),
    [
        ("a100", "A100-SXM4-80GB", 80, 312), ("a100-80gb", "A100-SXM4-80GB", 80, 312),
        ("A100 40GB", "A100-SXM4-40GB", 40, 312), ("a100-40gb", "A100-SXM4-40GB", 40, 312),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB", 80, 312), ("h100", "H100-SXM5-80GB", 80, 989.4),
        ("h100-sxm", "H100-SXM5-80GB", 80, 989.4), ("NVIDIA H100 80GB HBM3", "H100-SXM5-80GB", 80, 989.4),
        ("H100-96GB HBM2e 500 W", "H100-SXM5-80GB", 96, 989.4), ("h100-pcie", "H100-PCIE-80GB", 80, 756),
        ("h200", "H200-SXM-141GB", 141, 989.4), ("b200", "B200", 180, 2250), ("gb200", "GB200", 186, 2500),
        ("v100-32gb", "V100-SXM2-32GB", 32, 125), ("v100-16gb", "V100-SXM2-16GB", 16, 125),
        ("mi250x", "MI250X (one die)", 64, 191.5), ("mi300x", "MI300X", 192, 1307.4), ("mi325x", "MI325X", 256, 1307.4),
        ("ascend910b", "Ascend 910B2", 64, 353.9), ("910b", "Ascend 910B2", 64, 353.9),
        ("Ascend910B3", "Ascend 910B3", 64, 294.9), ("910c", "Ascend 910C (one die)", 64, 376),
        ("a3", "Ascend 910C (one die)", 64, 376), ("TPU v4", "TPU v4", 32, 275), ("h800", "H800-SXM5-80GB", 80, 989.4),
        ("4090", "RTX 4090", 24, 165.2), ("rtx3090", "RTX 3090", 24, 71), ("a6000", "RTX A6000", 48, 154.8),
        ("6000 ada", "RTX 6000 Ada", 48, 364.2), ("4090 laptop", "RTX 4090 Laptop", 16, 66),
    ],
)  # fmt: skip
def test_spellings(written: str, name: str, gib: int, tflops: float) -> None:
    found = platform(written)
    assert (found.name, found.memory_bytes >> 30) == (name, gib)
    assert found.peak("bf16") / 1e12 == pytest.approx(tflops, rel=0.001)


def test_less_power_is_less_speed() -> None:
    full, capped = platform("H100-80GB 700 W"), platform("H100-80GB 500 W")
    assert 0.75 < capped.share("bf16") / full.share("bf16") < 0.95
    assert capped.peak("bf16") == full.peak("bf16")


def test_cards_for_games_come_near_their_halved_peak() -> None:
    assert platform("4090").share("bf16") > platform("rtx 6000 ada").share("bf16") == platform("a6000").share("bf16")


def test_a_stated_network_counts() -> None:
    assert platform("H100-80GB, RoCE 200 Gb/s").network < 0.6 * platform("h100").network


def test_an_unknown_device_is_answered_with_what_is_known() -> None:
    with pytest.raises(UserError, match=r"a100-80gb|H100"):
        platform("h1000000")
