from __future__ import annotations

import pytest

from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.recording.recording import gaps, overhead_share, profiler
from support import Facts

GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn"


def whole(steps: int = 3) -> Facts:
    """A recording that lacks nothing: a GEMM per step that fills it, with shapes and stacks."""
    facts = Facts()
    for number in range(steps):
        facts.step(number, 1_000 * number, 1_000)
        op = facts.host("op", "aten::mm", 1_000 * number, 20)
        facts.row("op_inputs", event=op, shapes="[[64,64],[64,64]]", stack="train.py(3): f")
        facts.kernel(GEMM, 1_000 * number + 10, 980, launch=(1_000 * number + 2, 5))
    return facts


def of(trace: Trace) -> dict[str, float]:
    return dict(Signals.of(trace)(gaps))


def test_a_whole_recording_lacks_nothing() -> None:
    assert of(whole().trace(reader="kineto")) == {}


def test_lost_events_come_first() -> None:
    facts = whole()
    facts.staging.observe("truncated", "error", 1, "m", "e")
    assert of(facts.trace()) == {"lost": 2.0}


@pytest.mark.parametrize(("dur", "lacks"), [(99, False), (100, True)])
def test_the_profilers_own_work_counts_from_a_tenth_on(dur: int, lacks: bool) -> None:
    facts = whole()
    for number in range(3):
        facts.host("overhead", "Buffer Flush", 1_000 * number + 500, dur, thread="9")
        facts.host("overhead", "Buffer Flush", 1_000 * number + 500, dur, thread="10")
        facts.host("overhead", "Lazy Function Loading", 1_000 * number + 700, 200, thread="9")
    trace = facts.trace()
    assert Signals.of(trace)(overhead_share) == dur / 1_000
    assert ("overhead" in of(trace)) is lacks


def test_what_the_profiler_does_before_the_device_is_in_use_disturbs_nothing() -> None:
    facts = Facts()
    facts.host("overhead", "Buffer Flush", 0, 5_000, thread="9")
    facts.kernel(GEMM, 6_000, 1_000, launch=(5_900, 10))
    assert Signals.of(facts.trace())(overhead_share) == 0.0
    facts = Facts()
    facts.host("overhead", "Buffer Flush", 5_900, 600, thread="9")
    facts.kernel(GEMM, 6_000, 1_000, launch=(5_900, 10))
    assert Signals.of(facts.trace())(overhead_share) == 0.5


def test_launches_without_a_device() -> None:
    facts = Facts()
    facts.step(1, 0, 1_000)
    facts.host("launch", "cudaLaunchKernel", 100, 10)
    assert of(facts.trace())["device"] == 1.5


def test_a_job_without_a_device_is_not_told_to_record_one() -> None:
    facts = Facts()
    for number in range(3):
        facts.step(number, 1_000 * number, 1_000)
        facts.host("op", "aten::mm", 1_000 * number, 900)
    assert of(facts.trace()) == {}


def test_a_device_without_a_host() -> None:
    facts = Facts()
    facts.kernel(GEMM, 10, 980)
    assert "host" in of(facts.trace())


def test_pytorch_recordings_without_operators_lack_the_host_too() -> None:
    facts = Facts()
    for number in range(3):
        facts.step(number, 1_000 * number, 1_000)
        facts.kernel(GEMM, 1_000 * number + 10, 980, launch=(1_000 * number, 5))
    assert of(facts.trace(reader="kineto")) == {"host": 1.0}
    assert "host" not in nsight()


def nsight() -> dict[str, float]:
    other = Facts()
    for number in range(3):
        other.step(number, 1_000 * number, 1_000)
        other.kernel(GEMM, 1_000 * number + 10, 980, launch=(1_000 * number, 5))
    return of(other.trace(reader="nsight"))


def lone_step(busy_ns: int) -> dict[str, float]:
    facts = Facts()
    facts.step(0, 0, 1_000)
    op = facts.host("op", "aten::mm", 0, 20)
    facts.row("op_inputs", event=op, shapes="[[64,64],[64,64]]")
    facts.kernel(GEMM, 5, busy_ns, launch=(1, 2))
    return of(facts.trace())


def test_one_step_is_too_few_by_the_time_in_which_the_device_waits() -> None:
    assert lone_step(busy_ns=700)["steps"] == pytest.approx(0.3)
    assert lone_step(busy_ns=900)["steps"] == pytest.approx(0.1)


def test_of_a_device_that_is_busy_one_step_tells_enough() -> None:
    assert "steps" not in lone_step(busy_ns=901)
    assert "steps" not in of(whole(2).trace())


def test_shapes_matter_by_the_time_of_tensor_cores() -> None:
    facts = Facts()
    for number in range(3):
        facts.step(number, 1_000 * number, 1_000)
        facts.host("op", "aten::mm", 1_000 * number, 20)
        facts.kernel(GEMM, 1_000 * number + 10, 600, launch=(1_000 * number + 2, 5))
    found = of(facts.trace())
    assert found["shapes"] == 0.6


def test_stacks_matter_by_the_time_that_the_device_waits_for_the_host() -> None:
    facts = Facts()
    for number in range(3):
        facts.step(number, 1_000 * number, 1_000)
        op = facts.host("op", "aten::mm", 1_000 * number, 500)
        facts.row("op_inputs", event=op, shapes="[[64,64],[64,64]]")
        facts.kernel(GEMM, 1_000 * number + 480, 500, launch=(1_000 * number + 470, 5))
    assert of(facts.trace())["stacks"] > 0.4


def test_what_waits_for_a_compiler_needs_no_stack() -> None:
    facts = Facts()
    for number in range(3):
        facts.step(number, 1_000 * number, 1_000)
        op = facts.host("op", "aten::mm", 1_000 * number, 500)
        facts.host("annotation", "_compile.compile_inner (dynamo_timed)", 1_000 * number, 460)
        facts.row("op_inputs", event=op, shapes="[[64,64],[64,64]]")
        facts.kernel(GEMM, 1_000 * number + 480, 500, launch=(1_000 * number + 470, 5))
    assert "stacks" not in of(facts.trace())


def test_exposed_collectives_of_which_ranks_are_missing() -> None:
    facts = whole()
    event = facts.kernel("ncclDevKernel_AllReduce", 2_990, 100, launch=(2_900, 5), kind="comm")
    facts.row("collectives", event=event, group="0", collective="all_reduce", world_size=4)
    assert of(facts.trace(world_size=4))["ranks"] == pytest.approx(0.1 / 3, rel=0.1)


def test_low_levels_of_the_ascend_profiler() -> None:
    facts = whole()
    assert of(facts.trace(reader="ascend", attributes={"profiler_level": "Level0"})) == {"level": 0.4}


def test_a_snapshot_without_history() -> None:
    facts = Facts()
    facts.row("segments", segment=0, device=0, address=0, bytes=1 << 21)
    s = Signals.of(facts.trace(reader="memsnapshot"))
    assert s(gaps) == {"history": 0.9}
    assert s(profiler) == "memsnapshot"


def test_graphs_recorded_as_a_whole() -> None:
    facts = whole()
    facts.staging.observe("graphs-opaque", "warning", 1, "m", "e")
    assert of(facts.trace()) == {"graphs": 0.6}


def test_one_rank_alone_with_collectives_of_an_unknown_number_of_ranks() -> None:
    facts = whole()
    event = facts.kernel("ncclDevKernel_AllReduce", 2_990, 120, launch=(2_900, 5), kind="comm")
    facts.row("collectives", event=event, group="0", collective="all_reduce")
    assert "ranks" in of(facts.trace())


def test_what_the_profiler_was_told_to_record_is_not_advised() -> None:
    facts = Facts()
    for number in range(3):
        facts.step(number, 1_000 * number, 1_000)
        facts.host("op", "aten::mm", 1_000 * number, 20)
        facts.kernel(GEMM, 1_000 * number + 10, 980, launch=(1_000 * number + 2, 5))
    trace = facts.trace(reader="kineto", attributes={"record_shapes": True})
    assert "shapes" not in of(trace)


def test_more_stacks_are_not_asked_for_where_they_slow_the_host_already() -> None:
    facts = Facts()
    for call in range(60):
        at, name = call * 100_000, ("aten::empty", "aten::view", "aten::resize_")[call % 3]
        facts.host("op", name, at, 20_000)
        facts.host("op", name, at + 50_000, 4_000, thread="2")
        facts.kernel("a", at + 30_000, 1_000, launch=(at + 25_000, 2_000))
        facts.kernel("b", at + 80_000, 1_000, launch=(at + 75_000, 2_000), thread="2")
    facts.step(0, 0, 6_000_000)
    found = of(facts.trace())
    assert "overhead" in found
    assert "stacks" not in found


@pytest.mark.parametrize("numbered", [False, True])
def test_time_that_an_observer_adds_is_no_line_s(numbered: bool) -> None:
    facts = Facts()
    for call in range(60):
        args = {"Record function id": 7 + call} if numbered else None
        facts.host("op", ("aten::empty", "aten::view", "aten::resize_")[call % 3], call * 100_000, 90_000, args=args)
        facts.kernel("a", call * 100_000 + 95_000, 5_000, launch=(call * 100_000 + 92_000, 2_000))
    facts.step(0, 0, 6_000_000)
    found = of(facts.trace())
    assert ("overhead" in found, found.get("stacks", 0.0) > 0.5) == (numbered, not numbered)


@pytest.mark.parametrize(("idle", "asked"), [(90, False), (110, True)])
def test_stacks_are_not_asked_for_where_the_device_hardly_waits(idle: int, asked: bool) -> None:
    facts = Facts()
    for number in range(3):
        facts.step(number, 1_000 * number, 1_000)
        op = facts.host("op", "aten::mm", 1_000 * number, 500)
        facts.row("op_inputs", event=op, shapes="[[64,64],[64,64]]")
        facts.kernel(GEMM, 1_000 * number + idle, 1_000 - idle, launch=(1_000 * number + idle - 10, 5))
    assert ("stacks" in of(facts.trace())) is asked
