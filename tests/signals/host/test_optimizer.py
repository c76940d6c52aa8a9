from __future__ import annotations

import pytest

from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.host import optimizer
from support import Facts

ADAM = ("aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::sqrt", "aten::div", "aten::addcdiv_")


def stepped(
    *operators: str, tensors: int = 20, name: str = "Optimizer.step#AdamW.step", launches: bool = True
) -> Signals:
    facts = Facts()
    for number in range(2):
        at = number * 10_000_000
        facts.step(number, at, 10_000_000)
        facts.host("op", "aten::mul_", at + 1000, 100)  # not the optimizer's
        facts.host("annotation", name, at + 1_000_000, 8_000_000)
        now = at + 1_001_000
        for operator in operators * tensors:
            facts.host("op", operator, now, 9_000)
            if launches:
                facts.kernel("k", now + 9_000, 1_500, launch=(now + 1000, 4000))
            now += 10_000
    return Signals.of(facts.trace())


def test_a_loop_over_tensors_is_counted_per_step() -> None:
    s = stepped(*ADAM)
    assert s(optimizer.tensor_updates) == 120
    found = s(optimizer.updates)
    assert (found.kinds, found.fused, found.kernels.size, found.others) == (6, False, 240, 0)
    assert found.kernel_ns.tolist() == [1500] * 240


def test_what_another_thread_takes_from_a_queue_is_part_of_the_step() -> None:
    facts = Facts()
    facts.step(1, 0, 10_000_000)
    tasks, kernels = [], []
    for start, inside in ((100_000, False), (1_010_000, True)):
        if inside:
            facts.host("annotation", "Optimizer.step#AdamW.step", 1_000_000, 500_000)
        facts.host("op", "aten::mul_", start, 9_000)
        facts.host("queue", "Enqueue", start + 5_000, 1_000)
        taken = start + 3_000_000
        tasks.append(facts.host("queue", "Dequeue@Mul", taken, 8_000, thread="2"))
        for thread, ts in (("1", start + 5_000), ("2", taken)):
            track = facts.staging.track("host", process="1", thread=thread)
            facts.row("raw_flows", kind="queue", key=str(start), is_source=thread == "1", ts=ts, track=track)
        kernels.append(facts.kernel("Mul", taken + 9_000, 1_500, launch=(taken + 2_000, 4_000), thread="2"))
    found = Signals.of(facts.trace())(optimizer.updates)
    assert found.handed.tolist() == tasks[1:]
    assert found.kernels.tolist() == kernels[1:]


def test_rare_operators_are_no_pass_over_all_tensors() -> None:
    s = stepped(*("aten::mul_", "aten::add_") * 10, "aten::pow", tensors=2)
    assert s(optimizer.updates).kinds == 2


@pytest.mark.parametrize(
    ("operators", "name"),
    [
        (("aten::_foreach_add_", "aten::add_"), "Optimizer.step#SGD.step"),
        (("aten::_fused_adamw_",), "Optimizer.step#AdamW.step"),
        (("aten::mul_",), "Optimizer.step#FusedAdam.step"),
    ],
)
def test_lists_of_tensors_and_fused_ones_are_no_loop(operators: tuple[str, ...], name: str) -> None:
    assert stepped(*operators, name=name)(optimizer.tensor_updates) == 0


def test_passes_of_a_closure_are_not_the_optimizers() -> None:
    facts = Facts()
    facts.step(0, 0, 10_000_000)
    facts.host("annotation", "Optimizer.step#SGD.step", 1_000_000, 8_000_000)
    facts.host("annotation", "Optimizer.zero_grad#SGD.zero_grad", 1_000_000, 10_000)
    for number in range(60):
        facts.host("op", "aten::mul", 1_020_000 + number * 20_000, 10_000)
    facts.kernel("k", 1_300_000, 1_500, launch=(1_022_000, 4000))
    facts.host("op", "autograd::engine::evaluate_function: MulBackward0", 3_000_000, 3_000_000)
    own = [facts.host("op", "aten::add_", 7_000_000 + number * 10_000, 9_000) for number in range(5)]
    kernel = facts.kernel("k", 7_100_000, 1_500, launch=(7_001_000, 4000))
    found = Signals.of(facts.trace())(optimizer.updates)
    assert (found.calls, found.others, found.number, found.host_ns) == (5, 0, 1, 3_010_000)
    assert (found.events.tolist(), found.kernels.tolist()) == (own, [kernel])


def test_an_optimizer_that_mostly_does_something_else_is_no_loop() -> None:
    assert stepped("aten::mm", "aten::mm", "aten::add_")(optimizer.tensor_updates) == 0


def test_without_a_device_the_calls_count_by_themselves() -> None:
    assert stepped(*ADAM, launches=False)(optimizer.tensor_updates) == 120


def test_without_a_marked_step_there_is_nothing_to_say() -> None:
    with pytest.raises(MissingInputError, match="no step of an optimizer"):
        stepped(*ADAM, name="update")(optimizer.updates)
    facts = Facts()
    facts.step(0, 0, 1_000_000)
    facts.host("annotation", "Optimizer.step#AdamW.step", 1000, 0)
    facts.kernel("k", 5_000, 1_500, launch=(2_000, 500))
    with pytest.raises(MissingInputError, match="no step of an optimizer"):
        Signals.of(facts.trace())(optimizer.updates)
