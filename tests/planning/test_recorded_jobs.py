"""What a recording tells a plan of its batch, and what the plan says of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import stepscope
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.planning.machine.spelling import platform
from stepscope.planning.recording.batch import RecordedBatch, recorded_batch
from stepscope.planning.recording.calibrate import _attention, _links, _multiplications, calibrated
from stepscope.planning.recording.job import RecordedJob
from stepscope.planning.recording.planning import from_recording
from stepscope.planning.recording.remarks import given_by_recording, remarks
from support import Facts


def training(calls: int = 1, recomputes: bool = False, rows: int = 2) -> Trace:
    """Two steps on an H100 whose forward passes read so many rows of 4,096 tokens."""
    facts = Facts()
    facts.row("devices", device=0, name="NVIDIA H100 80GB HBM3", used=True)
    for i in range(2):
        at = i * 10_000_000
        facts.step(i, at, 9_000_000)
        for call in range(calls):
            op = facts.host("op", "aten::embedding", at + 1_000 + call * 100_000, 5_000)
            facts.row("op_inputs", event=op, shapes=f"[[128256, 4096], [{rows}, 4096]]", dtypes='["float", "long"]')
            facts.host("op", "aten::_flash_attention_forward", at + 10_000 + call * 100_000, 5_000)
            facts.kernel("sgemm", at + 100_000 + call * 100_000, 50_000, launch=(at + 11_000 + call * 100_000, 500))
        facts.host("annotation", "backward", at + 1_000_000, 500_000)
        facts.host("op", "aten::mm", at + 1_010_000, 300_000)
        facts.kernel("sgemm", at + 1_100_000, 500_000, launch=(at + 1_020_000, 500))
        if recomputes:
            name = "torch/utils/checkpoint.py(1500): recompute_fn"
            facts.host("python", name, at + 1_400_000, 90_000)
            facts.kernel("sgemm", at + 1_700_000, 50_000, launch=(at + 1_410_000, 500))
    return facts.trace()


def test_batch_and_recomputation_are_those_of_shapes_and_functions() -> None:
    assert recorded_batch(training()) == RecordedBatch(2, 4096, 1, recomputes=False)
    assert recorded_batch(training(calls=4, recomputes=True)) == RecordedBatch(2, 4096, 4, recomputes=True)
    facts = Facts()
    facts.kernel("sgemm", 0, 100)
    assert recorded_batch(facts.trace()) == RecordedBatch()


def test_what_is_asked_for_counts_before_what_was_recorded() -> None:
    batch, job = RecordedBatch(2, 2048, 4), RecordedJob(16, "H100", {"tp": 2, "cp": 2})
    assert given_by_recording(batch, job, 16, {}) == {"seq": 4096, "global_batch": 32}
    assert given_by_recording(batch, job, 16, {"seq": 8192, "global_batch": 64}) == {}
    assert given_by_recording(batch, RecordedJob(16, "", {"tp": 3}), 16, {}) == {"seq": 2048}
    assert given_by_recording(RecordedBatch(), job, 16, {}) == {}


def test_a_plan_says_what_a_larger_batch_and_less_recomputation_would_bring() -> None:
    found = from_recording(training(recomputes=True), "qwen3-0.6b", 1, None, 3, {}, {}, {})
    said = "\n".join(found.remarks)
    assert "forward passes of 2 x 4,096 tokens" in said
    assert "computes activations again" in said
    # One sequence more than the recorded step has: its time is compared by the token.
    assert re.search(r"a micro-batch of 4 instead: .* times that per token", said)
    assert "no recomputation instead" in said
    assert (found.request.fixed["seq"], found.request.fixed["global_batch"]) == (4096, 2)


def launched(wait: int, count: int = 150) -> Trace:
    """Kernels that are issued every 20 us and start so much later."""
    facts = Facts()
    facts.row("devices", device=0, name="NVIDIA H100 80GB HBM3", used=True)
    for i in range(count):
        at = i * 20_000
        facts.kernel("sgemm", at + wait, 10_000, launch=(at, 5_000))
    return facts.trace()


def test_the_host_is_timed_where_nothing_holds_it_up() -> None:
    h100 = platform("h100")
    assert calibrated(h100, launched(10_000)).launch == pytest.approx(20e-6)
    for held_up in (launched(500_000), launched(10_000, count=50)):
        with pytest.raises(UserError, match="tells no rate"):
            calibrated(h100, held_up)
    bounded = calibrated(replace(h100, launch=30e-6), launched(500_000))
    assert bounded.launch == pytest.approx(20e-6)
    assert "at least every 20.0" in bounded.taken[0]


def test_two_devices_of_a_mesh_have_one_link() -> None:
    rows = [{"name": "all_reduce", "best_bus_bandwidth": 18e9, "bytes": 1 << 30, "count": 1, "world_size": 2}]
    found = _links(platform("910b"), rows)
    assert found.link == pytest.approx(7 * 18e9)


@pytest.mark.parametrize(("rate", "taken"), [(300e9, True), (30e9, False)])
def test_collectives_that_wait_do_not_make_a_slow_link(rate: float, taken: bool) -> None:
    h100 = platform("h100")
    rows = [
        {"name": "all_reduce", "best_bus_bandwidth": rate, "bytes": 1 << 30, "count": 1, "world_size": 8},
    ]
    found = _links(h100, rows)
    assert (found.link == rate) == taken
    assert ("not taken" in found.taken[0]) != taken


def test_small_multiplications_are_no_rate() -> None:
    h100 = platform("h100")
    row = {"op_class": "gemm", "dtype": "bf16", "flops": 4e12, "total_ns": 10e6, "count": 4}
    assert _multiplications(h100, [row]).taken
    assert not _multiplications(h100, [{**row, "count": 4000}]).taken


@pytest.mark.parametrize(
    ("job", "batch", "expected"),
    [
        (RecordedJob(8, "H100", {}), RecordedBatch(), "neither groups of ranks nor a batch of tokens"),
        (RecordedJob(8, "H100", {}), RecordedBatch(images=True), "its model reads images"),
        (RecordedJob(1, "H100", {}, "PyTorch inference"), RecordedBatch(), "is of PyTorch inference, which trains"),
        (RecordedJob(1, "H100", {}), RecordedBatch(2, 512, 1), "no named groups on 1 device, and"),
    ],
)
def test_a_plan_says_what_of_the_recording_it_uses(job: RecordedJob, batch: RecordedBatch, expected: str) -> None:
    ask = {"model": "qwen3-0.6b", "devices": job.devices, "device": "h100"}
    found = stepscope.plan("qwen3-0.6b", devices=job.devices, device="h100", seq=512, global_batch=16)
    assert expected in "\n".join(remarks(found, job, batch, ask))


def test_attention_that_ran_one_way_only_says_nothing_of_the_other() -> None:
    row = {"op_class": "attention", "dtype": "bf16", "flops": 2e12, "total_ns": 10e6, "count": 4}
    npu = platform("910b")
    found = _attention(npu, [{**row, "name": "FlashAttentionScoreGrad"}])
    assert found.attention[0] == npu.attention[0]
    share = 2e14 / npu.peak("bf16")  # of 4,096 tokens, of which longer sequences reach more
    assert found.attention[1] == pytest.approx(share * (4096 + npu.reach) / (4096 + 400))
    assert found.taken == (f"attention reaches {100 * share:.0f} % backward of the peak",)
    assert _attention(npu, []) is npu


def test_a_recorded_device_that_no_table_has_is_asked_for() -> None:
    facts = Facts()
    facts.row("devices", device=0, name="Ascend NPU, 20 AI cores at 1,650 MHz", used=True)
    facts.kernel("sgemm", 0, 100)
    with pytest.raises(UserError, match="is not in the table of devices") as caught:
        from_recording(facts.trace(), "qwen3-0.6b", None, None, 3, {}, {}, {})
    assert "--device" in str(caught.value.hint)
