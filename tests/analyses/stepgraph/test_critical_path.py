"""What the critical path consists of: one small trace per part."""

from __future__ import annotations

from stepscope.analyses.stepgraph.critical_path import critical_path
from stepscope.model.trace import Trace
from support import Facts

US = 1000


def path(trace: Trace, step: int | None = 0) -> dict[tuple[str, str | None], int]:
    """Time by part and detail, in µs; the shares of a step add up to one."""
    rows = [row for row in critical_path(trace).records() if row["step"] == step]
    assert abs(sum(row["share"] for row in rows) - 1) < 1e-9
    assert [row["total_ns"] for row in rows] == sorted((row["total_ns"] for row in rows), reverse=True)
    return {(row["part"], row["detail"]): row["total_ns"] // US for row in rows}


def test_kernels_by_class_and_what_leads_to_them() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("op", "aten::mm", 10 * US, 90 * US)
    f.kernel("ampere_bf16_s16816gemm_bf16_128x64", 102 * US, 500 * US, launch=(90 * US, 10 * US))
    f.kernel("vectorized_elementwise_kernel", 603 * US, 297 * US, launch=(101 * US, 10 * US))
    f.host("sync", "cudaDeviceSynchronize", 112 * US, 793 * US)
    assert path(f.trace()) == {
        ("kernel", "gemm"): 500,
        ("kernel", "elementwise"): 297,
        ("host", "python"): 10 + 95,
        ("host", "operator"): 80,
        ("launch", "call"): 10,
        ("launch", "latency"): 2,
        ("launch", "between activities of a queue"): 1,
        ("synchronisation", None): 5,
    }


def test_a_hidden_kernel_is_not_on_the_path() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("op", "aten::mm", 0, 1000 * US)
    f.kernel("vectorized_elementwise_kernel", 102 * US, 500 * US, launch=(90 * US, 10 * US))
    assert path(f.trace()) == {("host", "operator"): 990, ("launch", "call"): 10}


def test_data_memory_and_garbage_collection() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("dataloader", "enumerate(DataLoader)#_SingleProcess", 0, 300 * US)
    f.host("op", "aten::empty", 300 * US, 300 * US)
    f.host("runtime", "cudaMalloc", 350 * US, 200 * US)
    f.host("gc", "Python GC", 700 * US, 100 * US)
    f.host("overhead", "Activity Buffer Request", 800 * US, 50 * US, thread="profiler")
    assert path(f.trace()) == {
        ("data", None): 300,
        ("allocation", None): 200,
        ("host", "operator"): 100,
        ("host", "gc"): 100,
        ("profiler", None): 50,
        ("host", "python"): 250,
    }


def test_communication_is_waiting_or_moving_data() -> None:
    f = Facts()
    f.step(0, 0, 50 * US)
    for i, (at, took) in enumerate(((12, 100), (113, 400))):
        event = f.kernel("ncclDevKernel_AllReduce", at * US, took * US, launch=(10 * i * US, 10 * US), kind="comm")
        f.row("collectives", event=event, group="0", collective="all_reduce", bytes=1 << 20)
    found = path(f.trace())
    assert found["communication", "moving data"] == 200
    assert found["communication", "waiting for other ranks"] == 300


def test_copies_by_direction_and_waits_for_other_queues() -> None:
    f = Facts()
    f.step(0, 0, 100 * US)
    copy = f.kernel("Memcpy HtoD", 12 * US, 300 * US, launch=(0, 10 * US), kind="copy", stream="24")
    f.row("copies", event=copy, direction="HtoD", bytes=1)
    f.host("runtime", "cudaEventRecord", 11 * US, US)
    f.host("runtime", "cudaStreamWaitEvent", 13 * US, US)
    f.kernel("vectorized_elementwise_kernel", 314 * US, 100 * US, launch=(15 * US, 10 * US))
    assert path(f.trace()) == {
        ("copy", "HtoD"): 300,
        ("kernel", "elementwise"): 100,
        ("launch", "call"): 10,
        ("launch", "latency"): 2,
        ("dependency", None): 2,
    }


def test_each_step_has_a_path_and_all_together_one_more() -> None:
    f = Facts()
    for i in range(2):
        f.step(i, 1000 * i * US, 1000 * US)
        f.host("op", "aten::mm", 1000 * i * US, (600 + 100 * i) * US)
    trace = f.trace()
    assert path(trace, 0) == {("host", "operator"): 600, ("host", "python"): 400}
    assert path(trace, 1) == {("host", "operator"): 700, ("host", "python"): 300}
    assert path(trace, None) == {("host", "operator"): 1300, ("host", "python"): 700}


def test_without_a_recorded_thread_only_the_device_is_on_the_path() -> None:
    f = Facts()
    for i in range(3):
        f.kernel("vectorized_elementwise_kernel", 110 * i * US, 100 * US)
    assert path(f.trace()) == {("kernel", "elementwise"): 300, ("launch", "between activities of a queue"): 20}
