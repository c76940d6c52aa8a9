"""Samples of units and links, summed up over what the device did meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.conformance import check_invariants, open_fresh
from readers.nsight.database import MEMCPY, Export
from stepscope.analyses.registry import analyses, table_of
from stepscope.model.device_table.sampled import measured
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace

#: Metrics by number.
METRICS = {
    1: "SMs Active [Throughput %]", 2: "Tensor Active [Throughput %]", 3: "DRAM Read Bandwidth [Throughput %]",
    4: "NVLink RX Requests User Data [Throughput %]", 5: "PCIe RX Throughput [Throughput %]",
    6: "GPC Clock Frequency [MHz]", 7: "Compute Warps in Flight [Avg]",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("SMs Active [Throughput %]", "SMs"),
        ("SM Issue [Throughput %]", "issue"),
        ("Tensor Active / FP16 Active [Throughput %]", "tensor cores"),
        ("Tensor Active", "tensor cores"),
        ("DRAM Write Throughput [Throughput %]", "memory write"),
        ("PCIe TX Throughput [Throughput %]", "pcie transmit"),
        ("NVLink TX Responses User Data [Throughput %]", "nvlink transmit"),
        ("DRAM Read Bandwidth [Bytes]", None),
        ("PCIe Read Requests to BAR1 [Requests]", None),
        ("Unallocated Warps in Active SMs [Throughput %]", None),
        ("GPC Clock Frequency [MHz]", None),
    ],
)
def test_what_a_metric_measures(name: str, what: str | None) -> None:
    assert measured(name) == what


def _export(gpus: tuple[int, ...] = (0,), *, samples: bool = True) -> Export:
    """A kernel from 1,000 to 2,000, a copy from 3,000 to 4,000, a collective from 5,000 to 6,000."""
    export = Export()
    for number, (start, end) in enumerate(((1_000, 2_000), (5_000, 6_000)), 1):
        export.call("cudaLaunchKernel", start - 100, start - 50, number)
        export.kernel("work(int)" if number == 1 else "ncclDevKernel_AllReduce_Sum_f32()", start, end, number)
    export.call("cudaMemcpyAsync", 2_900, 2_950, 3)
    export.work(MEMCPY, 3_000, 4_000, 3, bytes=64, copyKind=1, srcKind=1, dstKind=2)
    for gpu in gpus:
        export.row("TARGET_INFO_GPU", id=gpu, cuDevice=gpu, name="NVIDIA A100-SXM4-40GB", smCount=108)
        for metric, name in METRICS.items():
            export.row("TARGET_INFO_GPU_METRICS", typeId=gpu, sourceId=0, typeName="ga100", metricId=metric,
                       metricName=name)  # fmt: skip
            for ts in range(0, 7_000, 100) if samples else ():
                export.row("GPU_METRICS", rawTimestamp=ts, timestamp=ts, typeId=gpu, metricId=metric,
                           value=_value(metric, ts))  # fmt: skip
    return export


def _value(metric: int, ts: int) -> int:
    within = {1: (1_000, 2_000, 90), 3: (1_000, 2_000, 70), 4: (5_000, 6_000, 40), 5: (3_000, 4_000, 80)}
    start, end, value = within.get(metric, (0, 0, 0))
    return value if start <= ts <= end else 0


def _rows(trace: Trace) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in table_of(analyses()["device_samples"], trace).records()}


def test_means_are_of_samples_within_work_of_one_kind(tmp_path: Path) -> None:
    trace = open_fresh(_export().sqlite(tmp_path / "a.sqlite"))
    check_invariants(trace)
    found = _rows(trace)
    assert [(row["name"], row["device"], row["measures"]) for row in found.values()] == [
        ("DRAM Read Bandwidth [Throughput %]", 0, "memory read"),
        ("NVLink RX Requests User Data [Throughput %]", 0, "nvlink receive"),
        ("PCIe RX Throughput [Throughput %]", 0, "pcie receive"),
        ("SMs Active [Throughput %]", 0, "SMs"),
        ("Tensor Active [Throughput %]", 0, "tensor cores"),
    ]
    filled = found["SMs Active [Throughput %]"]
    # From 1,100 to 1,900: those at the edges have time without the kernel beside them.
    assert (filled["samples"], filled["computing_samples"]) == (70, 9)
    assert filled["computing_mean"] == pytest.approx(0.9)
    assert filled["mean"] == pytest.approx(11 * 0.9 / 70)
    assert filled["most"] == 0.9
    assert (filled["communicating_mean"], filled["copying_mean"]) == (0.0, 0.0)
    assert found["NVLink RX Requests User Data [Throughput %]"]["communicating_mean"] == pytest.approx(0.4)
    assert found["PCIe RX Throughput [Throughput %]"]["copying_mean"] == pytest.approx(0.8)


def test_samples_of_a_gpu_that_the_job_does_not_use_have_no_work(tmp_path: Path) -> None:
    export = _export((0, 1))
    export.row("TARGET_INFO_CUDA_DEVICE", gpuId=1, cudaId=0, pid=7, uuid="")
    trace = open_fresh(export.sqlite(tmp_path / "a.sqlite"))
    rows = table_of(analyses()["device_samples"], trace).records()
    filled = [row for row in rows if row["measures"] == "SMs"]
    assert [(row["device"], row["computing_samples"]) for row in filled] == [(None, 0), (0, 9)]
    assert filled[0]["computing_mean"] is None


def test_without_samples_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="not sampled"):
        _rows(open_fresh(_export(samples=False).sqlite(tmp_path / "a.sqlite")))
