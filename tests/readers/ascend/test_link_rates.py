"""One link's samples as a table, as counters of a trace, and as a table of a database are the same rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import at, write_csv, write_text

from readers.conformance import open_fresh
from stepscope.analyses.communication.link_rates import link_rates
from stepscope.readers.ascend.tables.link_rates import _series

MB = 1 << 20


def rates(folder: Path) -> list[tuple[Any, ...]]:
    with open_fresh(folder) as trace:
        return [tuple(row.values())[1:] for row in link_rates(trace).records()]


def test_tables_of_links_become_rates(tmp_path: Path) -> None:
    output = write_text(tmp_path / "x_ascend_pt")
    roce = {
        "Device_id": "3", "Timestamp(us)": at(5) + "\t", "Bandwidth(MB/s)": "25000", "Rx Bandwidth efficiency(%)": "40",
        "rxPacket/s": "9", "rxError rate(%)": "0", "rxDropped rate(%)": "2", "Tx Bandwidth efficiency(%)": "0",
        "txPacket/s": "9", "txError rate(%)": "N/A", "txDropped rate(%)": "N/A", "funcId": "1",
    }  # fmt: skip
    write_csv(output / "roce.csv", [roce, {**roce, "Timestamp(us)": at(6), "Rx Bandwidth efficiency(%)": "80"}])
    hccs = {"Device_id": "3", "Mode": "Tx(MB/s)", "Max": "9.5", "Min": "1", "Average": "2"}
    write_csv(output / "hccs_20260101000000.csv", [hccs])
    pcie = {"Device_id": "3", "Mode": "Rx_p_avg(MB/s)", "Min": "1", "Max": "8", "Avg": "4"}
    write_csv(output / "pcie.csv", [pcie, {**pcie, "Mode": "Tx_np_lat_avg(us)"}])
    assert rates(tmp_path) == [
        ("HCCS", None, "transmit", None, 2.0 * MB, 9.5 * MB, None, None, None, None),
        ("PCIe", "posted", "receive", None, 4.0 * MB, 8.0 * MB, None, None, None, None),
        ("RoCE", "1", "receive", 2, pytest.approx(15e3 * MB), 20e3 * MB, 25e3 * MB, pytest.approx(0.6), 0.8, 0.02),
        ("RoCE", "1", "transmit", 2, 0.0, 0.0, 25e3 * MB, 0.0, 0.0, None),
    ]


@pytest.mark.parametrize(
    ("unit", "name", "told"),
    [
        ("roce", "Port 0/Rx Rx Bandwidth Efficiency", ("RoCE|0|receive", "share", 0.01)),
        ("roce", "Port 0/Tx Tx Dropped Rate", ("RoCE|0|transmit", "dropped", 0.01)),
        ("nic", "Port 1/Rx Rx Packets", None),
        ("nic", "rxByteRate 1", ("NIC|1|receive", "rate", 1.0)),
        ("nic", "bandwidth 1", ("NIC|1|", "bandwidth", 1.0)),
        ("nic", "rxErrors 1", None),
        ("nic", "rxBytes", None),
        ("hccs", "txThroughput", ("HCCS||transmit", "rate", 1.0)),
        ("hccs", "Rx Rx(MB/s)", ("HCCS||receive", "rate", float(MB))),
        ("pcie", "PCIe_post Tx", ("PCIe|posted|transmit", "rate", float(MB))),
        ("pcie", "PCIe_nonpost_latency Tx", None),
        ("pcie", "rxCplAvg", ("PCIe|completions|receive", "rate", 1.0)),
        ("pcie", "rxCplMax", None),
    ],
)
def test_what_the_exports_call_each_series(unit: str, name: str, told: tuple[str, str, float] | None) -> None:
    assert _series(unit, name) == told
