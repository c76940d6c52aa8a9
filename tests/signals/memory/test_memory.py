from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.communication import process_groups
from stepscope.signals.kernels import zeroing
from stepscope.signals.memory import driver_memory, memory
from stepscope.signals.shared import idleness
from support import Facts

MIB = 1 << 20


def memory_of(facts: Facts, ts: int, bytes_: int, allocated: int) -> None:
    facts.row("raw_memory", ts=ts, track=0, device=0, bytes=bytes_, allocated=allocated, reserved=2 * allocated)


def steps(count: int) -> Facts:
    facts = Facts()
    for number in range(count):
        facts.step(number, 1_000 * number, 1_000)
    return facts


class TestPeaks:
    def test_the_device_table_tells_the_size_that_the_recording_does_not(self) -> None:
        facts = steps(1)
        facts.row("devices", device=0, name="NVIDIA A100-SXM4-80GB", used=True)
        memory_of(facts, 100, 40 << 30, 40 << 30)
        s = Signals.of(facts.trace())
        assert s(memory.used_share) == 0.5
        assert s(memory.fullest).reserved == 80 << 30

    def test_unknown_devices_have_no_share(self) -> None:
        facts = steps(1)
        memory_of(facts, 100, 512, 512)
        s = Signals.of(facts.trace())
        assert s(memory.peaks)[0].total is None
        with pytest.raises(MissingInputError):
            s(memory.used_share)

    def test_what_stays_is_the_least_within_steps(self) -> None:
        facts = steps(3)
        for number in range(3):
            memory_of(facts, 1_000 * number + 100, 900, 1_000 + number)
            memory_of(facts, 1_000 * number + 500, -900, 100 + number)
        s = Signals.of(facts.trace())
        (growth,) = s(memory.growth)
        assert growth.levels.tolist() == [100, 101, 102]
        assert growth.increases.tolist() == [1, 1]
        assert s(memory.peaks)[0].baseline == 100

    @pytest.mark.parametrize("device", ["", "NVIDIA A100-SXM4-80GB"])
    def test_the_memory_of_the_host_counts_where_no_device_is_named(self, device: str) -> None:
        facts = steps(3)
        for number in range(3):
            at = 1_000 * number
            facts.host("op", "aten::mm", at + 10, 900)
            facts.row("raw_memory", ts=at + 100, track=0, device=None, bytes=1, allocated=100 + number, reserved=0)
        if device:
            facts.row("devices", device=0, name=device, used=False)
        s = Signals.of(facts.trace(reader="kineto"))
        assert s(memory.growth) == ()
        found = s.maybe(memory.host_growth)
        assert (found is None) == bool(device)
        assert found is None or [(one.device, one.increases.tolist()) for one in found] == [(None, [1, 1])]

    def test_without_allocations_there_is_no_peak(self) -> None:
        with pytest.raises(MissingInputError):
            Signals.of(steps(1).trace())(memory.peaks)


class TestSnapshots:
    def test_a_trace_without_one_has_none_and_no_failures(self) -> None:
        s = Signals.of(steps(1).trace())
        assert s(memory.failures) == ()
        for one in (memory.snapshot, memory.churn, memory.unreturned, memory.categories):
            with pytest.raises(MissingInputError):
                s(one)


class TestDriver:
    def test_calls_are_told_apart_by_name_and_by_who_made_them(self) -> None:
        facts = steps(2)
        for at in (100, 1_100):
            facts.host("op", "aten::empty", at, 50)
            facts.host("runtime", "cudaMalloc", at + 10, 20)
            facts.host("runtime", "cudaFree", at + 200, 30)
            facts.host("runtime", "cudaHostAlloc", at + 300, 30)
        s = Signals.of(facts.trace())
        calls = s(driver_memory.driver_calls)
        assert calls.free.tolist() == [False, True, False, True]
        assert calls.in_operator.tolist() == [True, False, True, False]
        assert calls.recurrence == 1.0
        assert calls.steady.ts.tolist() == [1_110, 1_300]
        assert s(driver_memory.unasked_frees).ts.tolist() == [300, 1_300]
        assert s(driver_memory.driver_share) == 0.05

    def test_no_calls_at_all_is_missing_input(self) -> None:
        with pytest.raises(MissingInputError):
            Signals.of(steps(2).trace())(driver_memory.driver_calls)

    @pytest.mark.parametrize(("frame", "told"), [("torch/cuda/memory.py(1): empty_cache", True), ("a.py(2): f", False)])
    def test_stacks_tell_whether_the_cache_is_emptied(self, frame: str, told: bool) -> None:
        facts = steps(1)
        facts.host("python", frame, 100, 50)
        assert Signals.of(facts.trace())(driver_memory.emptied) is told
        assert Signals.of(steps(1).trace())(driver_memory.emptied) is None

    def test_sizes_are_held_against_those_of_the_step_before(self) -> None:
        facts = steps(3)
        for number, sizes in enumerate(((512, 512, 1_024), (512, 512, 1_024), (512, 2_048))):
            for position, size in enumerate(sizes):
                memory_of(facts, 1_000 * number + 10 * position + 10, size, size)
        # All of the second step; of the third 512 of 2,560 bytes.
        assert Signals.of(facts.trace())(memory.same_sizes) == pytest.approx((1 + 0.2) / 2)
        assert Signals.of(steps(3).trace())(memory.same_sizes) is None


class TestZeroing:
    def test_operators_inside_zero_grad_and_their_kernels(self) -> None:
        facts = steps(1)
        facts.host("annotation", "Optimizer.zero_grad#SGD.zero_grad", 100, 200)
        inside = facts.host("op", "aten::zero_", 110, 50)
        kernel = facts.kernel("fill_kernel", 300, 20, launch=(120, 5))
        facts.host("op", "aten::zero_", 600, 50)
        facts.kernel("fill_kernel", 700, 20, launch=(610, 5))
        found = Signals.of(facts.trace())(zeroing.zeroed)
        assert (found.operators.tolist(), found.kernels.tolist(), found.steps) == ([inside], [kernel], 1)

    def test_gradients_let_go_zero_nothing(self) -> None:
        facts = steps(1)
        facts.host("annotation", "Optimizer.zero_grad#SGD.zero_grad", 100, 200)
        assert Signals.of(facts.trace())(zeroing.zeroed).operators.size == 0

    def test_without_an_optimizer_it_is_missing(self) -> None:
        with pytest.raises(MissingInputError):
            Signals.of(steps(1).trace())(zeroing.zeroed)


class TestIdleness:
    def test_dispatch_and_launch_latency_are_a_share_of_the_steps(self) -> None:
        facts = Facts()
        facts.step(1, 0, 1_000)
        facts.host("op", "aten::add", 100, 500)
        facts.kernel("k", 610, 90, launch=(590, 10))
        s = Signals.of(facts.trace())
        assert sum(s(idleness.causes).values()) == pytest.approx(0.91)
        assert s(idleness.waiting_for_host_share) > 0.5

    def test_without_a_device_it_is_missing(self) -> None:
        with pytest.raises(MissingInputError):
            Signals.of(steps(1).trace())(idleness.causes)


def test_the_recording_or_its_groups_tell_the_number_of_ranks() -> None:
    assert Signals.of(steps(1).trace(world_size=4))(process_groups.world_size) == 4
    facts = steps(1)
    facts.row("groups", group="0", size=2)
    assert Signals.of(facts.trace())(process_groups.world_size) == 2
    assert Signals.of(steps(1).trace())(process_groups.world_size) is None
