"""One simulated job, written in four formats and read by four readers, gives the same numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from readers.conformance import check_invariants, check_splits, open_fresh
from series import series
from stepscope.analyses.registry import analyses
from stepscope.simulate import SimJob, simulate
from stepscope.simulate.devices import DEVICES

#: An Ascend device that computes as fast as the GPU, so that the same job takes the same time on both.
GPU, NPU = "h100", "ascend910b2"
#: Nothing in these jobs sets memory: GPUs have an engine for that, Ascend devices run a kernel. Nor do they copy with
#: the host waiting, which Ascend's driver does past all streams.
JOBS = {
    "data parallel": SimJob(
        model="mlp", layers=4, hidden=1024, batch=64, steps=2, ranks=3, slow_rank=1, noise=0.05, bucket_bytes=1 << 20
    ),
    "alone": SimJob(model="mlp", layers=3, hidden=512, steps=3),
    "sharded": SimJob(model="mlp", layers=3, hidden=512, steps=2, ranks=2, parallel="fsdp", copy_stream=True),
    "machines": SimJob(model="mlp", layers=2, hidden=256, steps=2, ranks=4, ranks_per_host=2, clock_offset_ns=250_000),
    "synchronised": SimJob(model="mlp", layers=3, hidden=512, steps=2, sync_every_op=True, workers=0, load_ns=200_000),
    "inference": SimJob(training=False, layers=2, hidden=256, heads=4, steps=3, workers=1, load_ns=6_000_000),
}
FORMATS = {"kineto": GPU, "ascend": NPU, "nsight": GPU, "memsnapshot": GPU}
TIMED = ("kineto", "ascend", "nsight")
PARTS = ("number", "total_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns", "comm_ns", "copy_ns")
CAUSES = ("data_wait", "synchronisation", "allocation", "host_dispatch", "launch_latency", "dependency",
          "profiler_overhead", "unknown")  # fmt: skip


@pytest.fixture(scope="module")
def twin():
    """The Ascend device with the rates of the GPU."""
    with pytest.MonkeyPatch.context() as patch:
        gpu, npu = DEVICES[GPU], DEVICES[NPU]
        names = {"name": npu.name, "vendor": npu.vendor, "capability": npu.capability, "megahertz": npu.megahertz}
        patch.setitem(DEVICES, NPU, replace(gpu, **names))
        yield


@pytest.fixture(scope="module", params=series(JOBS, 1))
def read(request, twin, tmp_path_factory):
    """The traces of the last rank by format, and what each format's truth says of it."""
    job = JOBS[request.param]
    folder = tmp_path_factory.mktemp("formats")
    traces, truths = {}, {}
    for name, device in FORMATS.items():
        out = folder / name
        path = simulate(replace(job, device=device, profiler_level=2), out, name)[-1]
        truths[name] = json.loads((out / "job.truth.json").read_text())["ranks"][-1]
        traces[name] = open_fresh(path)
    yield traces, truths
    for trace in traces.values():
        trace.close()


def test_there_is_one_truth(read):
    _, truths = read
    for truth in truths.values():
        assert truth["steps"] == truths["kineto"]["steps"]
        for key in ("device_begin", "device_end", "peak_allocated", "peak_reserved", "segment_calls"):
            assert truth[key] == truths["kineto"][key]


@pytest.mark.parametrize("format", FORMATS)
def test_every_trace_conforms(read, format):
    traces, _ = read
    check_invariants(traces[format])
    assert traces[format].scalar("SELECT count(*) FROM health WHERE severity = 'error'") == 0
    if format in TIMED:
        check_splits(traces[format])


def budgets(trace):
    rows = analyses()["step_budget"].run(trace).records()
    return [{part: row[part] for part in PARTS} for row in rows]


@pytest.mark.parametrize("format", TIMED)
def test_step_budgets_are_the_truth_to_the_nanosecond(read, format):
    traces, truths = read
    found = [row for row in budgets(traces[format]) if row["number"] is not None]
    assert len(found) == len(truths[format]["steps"]) > 1
    for row, step in zip(found, truths[format]["steps"], strict=True):
        expected = {part: step["tile"][part] for part in PARTS[1:]}
        assert row == {"number": step["step"], **expected}


def test_step_budgets_agree(read):
    traces, _ = read
    kineto, ascend, nsight = (budgets(traces[format]) for format in TIMED)
    assert kineto == ascend == nsight


def starts(trace):
    """When the steps start, in Unix time."""
    origin = trace.recordings[trace.ranks[0]].origin_unix_ns
    return [origin + ts for ts in trace.columns("SELECT ts FROM steps ORDER BY step")["ts"].tolist()]


def causes(trace):
    """Idle time of all steps by cause."""
    found = dict.fromkeys(CAUSES, 0)
    for row in analyses()["idle_causes"].run(trace).records():
        if row["step"] is not None:
            found[row["cause"]] += row["total_ns"]
    return found


@pytest.mark.parametrize("format", ["kineto", "ascend"])
def test_idle_causes_are_the_truth(read, format):
    """Where one cause ends and the next starts is known to a few calls; a gap has at most a handful of those."""
    traces, truths = read
    expected = dict.fromkeys(CAUSES, 0)
    for step in truths[format]["steps"]:
        for name, spent in step["tile"]["idle_causes"].items():
            expected[name.split(":")[0].replace(" ", "_")] += spent
    found = causes(traces[format])
    for name, spent in expected.items():
        assert found[name] == pytest.approx(spent, rel=0.03, abs=20_000 * len(truths[format]["steps"])), name
    assert sum(found.values()) == sum(expected.values())


def test_steps_begin_at_the_same_time_of_day(read):
    traces, _ = read
    kineto, ascend, nsight = (starts(traces[format]) for format in TIMED)
    assert kineto == ascend == nsight


def test_device_work_agrees_by_kind_and_class(read):
    traces, _ = read
    query = (
        "SELECT kind, count(*) AS n, sum(dur)::BIGINT AS total FROM kernels WHERE kind <> 'sync' GROUP BY 1 ORDER BY 1"
    )
    kineto, ascend, nsight = (traces[format].sql(query).to_pylist() for format in TIMED)
    assert kineto == ascend == nsight
    query = "SELECT sum(dur) FROM kernels WHERE op_class = 'gemm'"
    kineto, ascend, nsight = (traces[format].scalar(query) for format in TIMED)
    assert kineto == ascend == nsight > 0


def test_collectives_agree(read):
    traces, truths = read
    query = "SELECT c.collective, k.dur FROM collectives c JOIN kernels k ON k.event = c.event ORDER BY k.ts"
    kineto, ascend, nsight = (traces[format].sql(query).to_pylist() for format in TIMED)
    assert kineto == ascend == nsight
    assert len(kineto) == sum(row["count"] for row in truths["kineto"]["kernels"] if row["kind"] == "comm")


def test_memory_agrees(read):
    traces, truths = read
    query = "SELECT max(allocated) AS allocated, max(reserved) AS reserved FROM memory"
    [kineto], [ascend] = (traces[format].sql(query).to_pylist() for format in ("kineto", "ascend"))
    truth = truths["kineto"]
    assert kineto == ascend == {"allocated": truth["peak_allocated"], "reserved": truth["peak_reserved"]}
    # A snapshot's history holds what was asked for, which blocks are at least as large as.
    asked = traces["memsnapshot"].scalar("SELECT max(allocated) FROM memory")
    assert asked == truth["peak_requested"] <= truth["peak_allocated"]
