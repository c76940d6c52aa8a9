"""Phases of steps: what belongs to which, and that they add up."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from stepscope.analyses.steps.phase_names import phase_of
from stepscope.analyses.steps.phases import phases
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.ingest import Options, open_trace
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace
from stepscope.simulate import SimJob, simulate
from support import Facts, recorded_trace

US = 1000

Split = dict[tuple[int, str], tuple[int, int | None, int | None]]


def split(trace: Trace) -> Split:
    """Host, device and idle time by step and phase, once they are found to add up."""
    rows = phases(trace).records()
    sums: dict[tuple[int | None, int], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        sums[row["device"], row["step"]][0] += row["host_ns"]
        sums[row["device"], row["step"]][1] += (row["device_ns"] or 0) + (row["idle_ns"] or 0)
    steps = Steps.of(trace)
    host = dict(zip(steps.step.tolist(), (steps.stop - steps.ts).tolist(), strict=True))
    assert {step: total for (_, step), (total, _) in sums.items()} == host
    if any(row["device_ns"] is not None for row in rows):
        whole = {(row["device"], row["step"]): row["total_ns"] for row in step_budget(trace).records()}
        assert all(whole[key] == total for key, (_, total) in sums.items())
    return {(row["step"], row["phase"]): (row["host_ns"], row["device_ns"], row["idle_ns"]) for row in rows}


def in_us(found: Split, step: int = 0) -> dict[str, tuple[Any, ...]]:
    return {
        phase: tuple(None if value is None else value // US for value in values)
        for (number, phase), values in found.items()
        if number == step
    }


def op(f: Facts, name: str, ts: int, dur: int, kernel: int = 0, at: int | None = None, **more: Any) -> int:
    """An operator, times in µs, which may launch a kernel of so many µs."""
    event = f.host("op", name, ts * US, dur * US, **more)
    if kernel:
        start = (ts + 8 if at is None else at) * US
        f.kernel(f"{name} kernel", start, kernel * US, launch=(ts * US + US, 4 * US), kind="compute", **more)
    return event


def training() -> Facts:
    """A step of 1000 µs: batch, copy, forward, backward on a thread of its own, optimizer, a read at the end."""
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("dataloader", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 100 * US)
    copied = f.host("op", "aten::to", 110 * US, 30 * US)
    assert copied
    event = f.kernel("Memcpy HtoD", 120 * US, 10 * US, launch=(112 * US, 5 * US), kind="copy")
    f.row("copies", event=event, direction="HtoD", bytes=1 << 20, src_kind="pageable", dst_kind="device")
    op(f, "aten::mm", 150, 50, kernel=100)
    op(f, "aten::relu", 210, 40, kernel=100, at=260)
    op(f, "autograd::engine::evaluate_function: MmBackward0", 300, 100, thread="2")
    op(f, "aten::mm", 310, 50, kernel=200, at=400, thread="2")
    op(f, "autograd::engine::evaluate_function: ReluBackward0", 420, 80, thread="2")
    f.host("annotation", "Optimizer.step#SGD.step", 550 * US, 150 * US)
    op(f, "aten::_foreach_add_", 560, 100, kernel=50, at=650)
    op(f, "aten::item", 800, 150)
    return f


def test_a_training_step_splits_into_its_phases() -> None:
    assert in_us(split(training().trace())) == {
        "data_loading": (100, 0, 100),
        "preprocessing": (30, 10, 20),  # the copy of the input
        "forward": (110, 200, 18),
        "backward": (200, 200, 40),
        "optimizer": (150, 50, 50),
        "rest": (410, 0, 312),
    }


def test_recomputed_activations_are_not_backward() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    op(f, "aten::mm", 0, 50, kernel=50)
    op(f, "autograd::engine::evaluate_function: CheckpointFunctionBackward", 100, 400, thread="2")
    op(f, "CheckpointFunctionBackward", 110, 380, thread="2")
    op(f, "aten::mm", 120, 80, kernel=60, thread="2")
    op(f, "autograd::engine::evaluate_function: MmBackward0", 300, 100, thread="2")
    op(f, "aten::mm", 310, 80, kernel=70, thread="2")
    found = in_us(split(f.trace()))
    assert found["recomputation"][:2] == (280, 60)  # 110 to 490 without the backward pass inside it
    assert found["backward"][:2] == (120, 70)
    assert found["forward"][:2] == (50, 50)


def test_forward_operators_of_a_backward_thread_are_recomputed() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    op(f, "aten::mm", 0, 50)
    op(f, "autograd::engine::evaluate_function: MmBackward0", 100, 300, thread="2")
    op(f, "aten::mm", 120, 80, kernel=60, thread="2")
    op(f, "MmBackward0", 300, 90, thread="2")
    main, other = (f.staging.track("host", process="1", thread=thread) for thread in "12")
    for key, source, track, target in (("1", 0, main, 100), ("2", 120, other, 300)):
        ends = ((True, source, track), (False, target, other))
        for is_source, ts, where in ends:
            f.row("raw_flows", kind="forward_backward", key=key, is_source=is_source, ts=ts * US, track=where)
    found = in_us(split(f.trace()))
    assert found["recomputation"][:2] == (80, 60)


def test_without_named_optimizer_what_follows_the_backward_pass_is_one() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    op(f, "aten::mm", 0, 50, kernel=50)
    for i in range(10):
        op(f, "aten::zero_", 60 + 10 * i, 8)
    op(f, "MmBackward", 200, 100, kernel=50, thread="2")
    op(f, "aten::add_", 400, 50, kernel=20)
    found = in_us(split(f.trace()))
    assert found["optimizer"][0] == 98 + 50
    assert found["forward"][0] == 50


def test_accumulated_gradients_have_a_forward_pass_each() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    for at in (0, 300):
        op(f, "aten::mm", at, 50, kernel=50)
        op(f, "MmBackward", at + 100, 100, kernel=50, thread="2")
    f.host("annotation", "Optimizer.step#Adam.step", 700 * US, 100 * US)
    op(f, "aten::clip", 600, 20)
    found = in_us(split(f.trace()))
    assert (found["forward"][0], found["backward"][0], found["optimizer"][0]) == (100, 200, 120)


@pytest.mark.parametrize("thread", ["1", "2"])
def test_closures_of_an_optimizer_are_forward_and_backward(thread: str) -> None:
    """LBFGS: two closures, and what it does after each; backward on the main thread as on a CPU, and on another."""
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("annotation", "Optimizer.step#LBFGS.step", 100 * US, 800 * US)
    for at in (110, 500):
        f.host("annotation", "Optimizer.zero_grad#LBFGS.zero_grad", at * US, 10 * US)
        op(f, "aten::mm", at + 20, 80, kernel=50, at=at + 30)
        op(f, "autograd::engine::evaluate_function: MmBackward0", at + 110, 130, kernel=60, at=at + 120, thread=thread)
        op(f, "aten::dot", at + 250, 20, kernel=20, at=at + 260)
    assert in_us(split(f.trace())) == {
        "forward": (160, 100, 60),
        "backward": (260, 120, 140),
        # Zeroing twice, and from the end of each backward pass to the next closure or the end of the step.
        "optimizer": (10 + 10 + 160 + 10 + 150, 40, 300),
        "rest": (240, 0, 240),
    }


def test_a_closure_that_neither_zeroes_nor_has_modules_shows_by_what_is_differentiated() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("annotation", "Optimizer.step#SAM.step", 0, 900 * US)
    op(f, "aten::mul", 10, 50)  # the first of its steps
    op(f, "aten::mm", 100, 100)
    op(f, "MmBackward0", 300, 100)
    op(f, "aten::add_", 500, 50)
    track = f.staging.track("host", process="1", thread="1")
    for is_source, ts in ((True, 100), (False, 300)):
        f.row("raw_flows", kind="forward_backward", key="1", is_source=is_source, ts=ts * US, track=track)
    found = in_us(split(f.trace()))
    assert (found["forward"][0], found["backward"][0], found["optimizer"][0]) == (100, 100, 600)


def test_a_backward_pass_beside_an_optimizer_is_no_closure_of_its() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    op(f, "aten::mm", 0, 50)
    op(f, "MmBackward0", 100, 100)
    f.host("annotation", "Optimizer.step#SGD.step", 300 * US, 400 * US)
    op(f, "MmBackward0", 400, 100, thread="2")
    assert in_us(split(f.trace()))["optimizer"][0] == 400


def test_saving_the_model_is_no_recomputation() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    op(f, "aten::mm", 0, 50)
    op(f, "MmBackward0", 100, 100, thread="2")
    f.host("annotation", "Optimizer.step#SGD.step", 300 * US, 100 * US)
    f.host("python", "torch/serialization.py(944): save", 500 * US, 300 * US)
    op(f, "aten::item", 850, 50)
    found = in_us(split(f.trace()))
    assert (found["saving"][0], found["optimizer"][0], found["rest"][0]) == (300, 100, 450)
    assert "recomputation" not in found
    names = ("torch/distributed/checkpoint/state_dict_saver.py(60): async_save", "save_checkpoint", "saving",
             "trainer.py(20): _save_checkpoint", "safetensors/torch.py(280): save_file")  # fmt: skip
    assert {phase_of(name) for name in names} == {"saving"}
    assert {phase_of(name) for name in ("recompute", "activation recomputation")} == {"recomputation"}
    assert {phase_of(name) for name in ("saved_tensors", "checkpoint", "aten::save")} == {None}


def test_names_of_servers_and_users_are_phases() -> None:
    names = (
        ("step[EXTEND bs=15 toks=15360]", "prefill"),
        ("step[DECODE bs=32]", "decode"),
        ("execute_15360_context_15", "prefill"),
        ("execute_8192_context_9_generation_37", "mixed"),
        ("execute_context_1(888)_generation_0(0)", "prefill"),
        ("execute_context_0(0)_generation_4(4)", "decode"),
        ("## forward ##", "forward"),
        ("## sparse_data_dist ##", "preprocessing"),
        ("## wait_sparse_data_dist 1009 ##", "preprocessing"),
        ("## wait_for_batch ##", "preprocessing"),
        ("denoise step 3", "denoise"),
    )
    f = Facts()
    for step, (name, _) in enumerate(names):
        f.step(step, 1000 * step * US, 1000 * US)
        f.host("annotation", name, (1000 * step + 100) * US, 500 * US)
        op(f, "aten::mm", 1000 * step + 150, 50, kernel=300)
    found = split(f.trace())
    for step, (_, phase) in enumerate(names):
        assert in_us(found, step) == {phase: (500, 300, 200), "rest": (500, 0, 500)}


def test_sampling_inside_of_a_decode_step_is_its_own() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("annotation", "step[DECODE bs=32]", 100 * US, 800 * US)
    f.host("module", "nn.Module: Sampler_0", 600 * US, 100 * US)
    op(f, "aten::mm", 150, 50, kernel=300)
    op(f, "aten::argmax", 610, 50, kernel=20)
    found = in_us(split(f.trace()))
    assert found["sampling"] == (100, 20, 80)
    assert found["decode"][:2] == (700, 300)


def test_a_pipeline_prepares_and_postprocesses() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    f.host("python", "transformers/pipelines/base.py(1373): run_single", 0, 990 * US)
    f.host("python", "transformers/pipelines/video_classification.py(129): preprocess", 10 * US, 500 * US)
    op(f, "aten::mm", 600, 50, kernel=200)
    f.host("python", "transformers/pipelines/video_classification.py(155): postprocess", 900 * US, 50 * US)
    found = in_us(split(f.trace()))
    assert found["preprocessing"] == (500, 0, 500)
    assert found["postprocessing"] == (50, 0, 50)
    assert found["forward"][1] == 200


def test_collectives_beside_compute_take_none_of_its_time() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    op(f, "aten::mm", 0, 50, kernel=10)
    f.kernel("ncclDevKernel_AllReduce", 100 * US, 300 * US, launch=(60 * US, 5 * US), kind="comm", stream="9")
    op(f, "MmBackward", 100, 100, kernel=50, at=200, thread="2")
    found = in_us(split(f.trace()))
    assert found["backward"][1] == 50
    assert sum(values[1] for values in found.values()) == 10 + 300


def test_without_a_device_only_the_host_is_split() -> None:
    f = Facts()
    f.step(0, 0, 100 * US)
    op(f, "aten::mm", 0, 50)
    assert in_us(split(f.trace())) == {"forward": (50, None, None), "rest": (50, None, None)}


def test_gradients_may_be_zeroed_between_the_passes() -> None:
    f = Facts()
    f.step(0, 0, 1000 * US)
    op(f, "aten::rand", 0, 100)
    op(f, "aten::lstm", 120, 400)
    f.host("annotation", "Optimizer.zero_grad#SGD.zero_grad", 550 * US, 50 * US)
    op(f, "aten::ones_like", 610, 10)
    op(f, "autograd::engine::evaluate_function: LstmBackward0", 630, 200)
    f.host("annotation", "Optimizer.step#SGD.step", 850 * US, 100 * US)
    for is_source, ts in ((True, 120), (False, 630)):
        f.row("raw_flows", kind="forward_backward", key="1", is_source=is_source, ts=ts * US, track=1)
    assert in_us(split(f.trace())) == {
        "forward": (530, None, None), "backward": (200, None, None), "optimizer": (150, None, None),
        "rest": (120, None, None),
    }  # fmt: skip


def averaged(names: tuple[str, ...], times: int) -> dict[str, tuple[Any, ...]]:
    """Two training steps, and operators between the first update and the second batch that run for 10 µs each."""
    f = Facts()
    for start in (0, 2000):
        f.step(start // 2000, start * US, 2000 * US)
        op(f, "aten::mm", start + 10, 50, kernel=50)
        op(f, "MmBackward", start + 100, 100, kernel=50, thread="2")
        f.host("annotation", "Optimizer.step#AdamW.step", (start + 300) * US, 100 * US)
    for number, name in enumerate(names * times):
        op(f, name, 500 + 10 * number, 10, kernel=5)
    return in_us(split(f.trace()))


@pytest.mark.parametrize(
    ("names", "times", "updating"),
    [
        (("aten::mul_", "aten::add_"), 10, 200),
        (("aten::sub", "aten::mul", "aten::sub_"), 8, 240),
        (("aten::_foreach_lerp_",), 1, 10),
        (("aten::mul_", "aten::add_"), 3, 0),  # normalises a batch
        (("aten::mul", "aten::add"), 10, 0),
        (("aten::conv2d", "aten::batch_norm", "aten::relu_"), 10, 0),
    ],
)
def test_averaging_weights_after_the_update_belongs_to_it(names: tuple[str, ...], times: int, updating: int) -> None:
    found = averaged(names, times)
    assert found["optimizer"][0] == 100 + updating
    assert found["optimizer"][1] == (5 * len(names) * times if updating else 0)


def test_without_marks_the_thread_of_most_operators_is_the_main_one() -> None:
    f = Facts()
    op(f, "aten::mm", 0, 50)
    op(f, "aten::relu", 60, 40)
    op(f, "aten::rand", 0, 90, thread="2")
    assert in_us(split(f.trace())) == {"forward": (100, None, None)}


def test_a_long_pause_between_operators_is_no_pass_where_no_device_is_seen() -> None:
    """Operators of 500 us, a pause, and another; with a device the host may wait for it in that time."""
    for pause, device, forward in ((2_000, False, 1_000), (999, False, 1_999), (2_000, True, 3_000)):
        f = Facts()
        f.step(0, 0, 5_000 * US)
        f.host("op", "aten::mm", 100 * US, 500 * US)
        f.host("op", "aten::mm", (600 + pause) * US, 500 * US)
        if device:
            f.kernel("gemm", 200 * US, 100 * US, launch=(150 * US, 5 * US))
        assert split(f.trace())[0, "forward"][0] == forward * US


def test_without_operators_it_abstains() -> None:
    f = Facts()
    f.step(0, 0, 100 * US)
    f.kernel("kernel", 10 * US, 50 * US, launch=(0, 5 * US))
    with pytest.raises(MissingInputError, match="no operators"):
        phases(f.trace())


@pytest.mark.parametrize(
    ("path", "phase", "host"),
    [
        (("kineto", "v100_resnet50_workers4"), "backward", (40, 60)),
        (("kineto", "v100_resnet50_workers0"), "data_loading", (60, 80)),
        (("cases", "kineto", "h100_timesformer"), "preprocessing", (215, 225)),
        (("kineto", "no_gpu_events"), "backward", (34, 35)),
    ],
)
def test_recordings_split_as_their_experts_say(path: tuple[str, ...], phase: str, host: tuple[int, int]) -> None:
    trace = recorded_trace(*path, "trace.json.gz")
    found = split(trace)
    mine = [values[0] / 1e6 for (_, name), values in found.items() if name == phase]
    assert host[0] <= sorted(mine)[len(mine) // 2] <= host[1]


@pytest.mark.parametrize("format", ["kineto", "ascend"])
def test_simulated_training_splits_alike_in_every_format(format: str, tmp_path: Path) -> None:
    job = SimJob(
        layers=2, hidden=256, sequence=128, batch=4, steps=3, device="a100" if format == "kineto" else "ascend910b2"
    )
    simulate(job, tmp_path / ("trace.json" if format == "kineto" else "prof"), format)
    trace = open_trace(tmp_path, Options(cache=False))
    found = split(trace.rank(trace.ranks[0]))
    for step in {number for number, _ in found}:
        mine = {phase: values for (number, phase), values in found.items() if number == step}
        assert {"data_loading", "forward", "backward", "optimizer"} <= set(mine)
        # A backward pass does about twice the arithmetic of the forward pass.
        forward, backward = (mine[phase][1] or 0 for phase in ("forward", "backward"))
        assert 1.2 * forward < backward < 4 * forward
        assert mine.get("rest", (0, 0, 0))[1] == 0
