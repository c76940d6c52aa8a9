"""Rates of devices that are not in the table, against what NVIDIA's whitepapers state for the same ones."""

from __future__ import annotations

import pytest

from stepscope.model.devices import described, match


def row(name: str | None, capability: str | None, sms: int | None, mhz: int | None) -> dict[str, object]:
    return {
        "device": 0, "name": name, "compute_capability": capability, "sms": sms,
        "clock_hz": None if mhz is None else mhz * 10**6, "memory_bandwidth": 608_064_000_000,
        "memory_bytes": 8 << 30,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "capability", "sms", "mhz", "fp32", "fp16"),
    [
        # GA102 and AD102 whitepapers: boost clock, FP32, and FP16 tensor with FP32 accumulate, dense.
        ("NVIDIA GeForce RTX 3070 Ti", "8.6", 48, 1770, 21.7, 43.5),
        ("NVIDIA GeForce RTX 4070 Ti", "8.9", 60, 2610, 40.1, 80.2),
        ("NVIDIA TITAN RTX", "7.5", 72, 1770, 16.3, 65.2),
        ("NVIDIA RTX 5000 Ada Generation Laptop GPU", "8.9", 76, 2115, 41.1, 164.6),
    ],
)
def test_rates_are_those_that_the_vendor_states(
    name: str, capability: str, sms: int, mhz: int, fp32: float, fp16: float
) -> None:
    assert match(name) is None
    known = described(row(name, capability, sms, mhz))
    assert known is not None
    assert known.vector["fp32"] / 1e12 == pytest.approx(fp32, rel=0.01)
    assert known.matrix["fp16"] / 1e12 == pytest.approx(fp16, rel=0.01)
    assert known.name == f"{name} (rates derived)"
    assert known.memory_bandwidth == 608_064_000_000


def test_tf32_is_no_faster_than_fp32_on_geforce_cards_and_absent_before_ampere() -> None:
    ampere, turing = described(row("GeForce RTX 3060", "8.6", 28, 1777)), described(row("TITAN RTX", "7.5", 72, 1770))
    assert ampere is not None
    assert turing is not None
    assert ampere.matrix["tf32"] == ampere.vector["fp32"]
    assert not {"tf32", "bf16"} & set(turing.matrix)


@pytest.mark.parametrize(
    ("name", "capability", "sms", "mhz", "fp32"),
    [
        ("Tesla K80", "3.7", 13, 875, 4.37),
        ("GeForce GTX TITAN X", "5.2", 24, 1075, 6.6),
        ("NVIDIA GeForce GTX 1080 Ti", "6.1", 28, 1582, 11.34),
    ],
)
def test_devices_before_volta_have_no_tensor_cores(name: str, capability: str, sms: int, mhz: int, fp32: float) -> None:
    known = described(row(name, capability, sms, mhz))
    assert known is not None
    assert known.vector["fp32"] / 1e12 == pytest.approx(fp32, rel=0.01)
    assert known.matrix == {}


@pytest.mark.parametrize(
    "lacking",
    [
        row("X", None, 48, 1770),
        row("X", "8.6", None, 1770),
        row("X", "8.6", 48, None),
        row(None, "8.6", 48, 1770),
        row("A100 MIG 1g.5gb", "8.0", 14, 1410),
        row("X", "2.0", 14, 1150),
    ],
)
def test_without_what_it_takes_nothing_is_derived(lacking: dict[str, object]) -> None:
    assert described(lacking) is None


def test_what_is_in_the_table_is_taken_from_there() -> None:
    assert described(row("NVIDIA A100-SXM4-80GB", "8.0", 108, 1410)) is match("NVIDIA A100-SXM4-80GB")
