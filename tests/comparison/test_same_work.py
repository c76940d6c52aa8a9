"""Sides that hold different amounts of work: recordings without steps, and steps of another batch."""

from __future__ import annotations

import json
from random import Random

import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.comparable import RecordedDifference
from stepscope.comparison.gates import growth_limit, judge
from stepscope.comparison.result import Comparison
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace
from support import Facts

#: Kernels of a block, and ns of each.
BLOCK = {"sgemm_nn": 40_000, "layer_norm_kernel": 9_000, "softmax_warp_forward": 8_000, "gelu_kernel": 7_000,
         "bn_fw_kernel": 6_000, "dropout_kernel": 5_000}  # fmt: skip


def service(blocks: int, gap: int = 20_000, gemm: int = 40_000) -> Trace:
    """A recording without steps: the kernels of so many blocks in any order, with the device idle now and then."""
    facts, at, random = Facts(), 10_000, Random(1)
    names = [name for name in BLOCK for _ in range(blocks)]
    random.shuffle(names)
    for i, name in enumerate(names):
        length = gemm if name == "sgemm_nn" else BLOCK[name]
        facts.kernel(name, at, length, launch=(at - 2_000, 1_000))
        at += length + (gap if i % len(BLOCK) == 0 else 0)
    found = facts.trace(source=f"{blocks} {gap} {gemm}")
    assert not Steps.of(found).found.any()
    return found


def compared(base: Trace, new: Trace) -> Comparison:
    return compare_traces(base, new, CompareOptions(findings=False))


def test_a_longer_recording_of_the_same_has_no_cause() -> None:
    found = compared(service(40), service(60))
    assert found.verdict == "inconclusive"
    assert not any(one.sure for one in found.causes)


def test_causes_without_steps_are_of_the_same_work() -> None:
    """Half as many blocks, whose GEMM takes twice as long: less of all in sum, and more of one for the same work."""
    found = compared(service(80), service(40, gemm=80_000))
    assert found.verdict == "slower"
    first = next(one for one in found.causes if one.sure)
    assert (first.part, "gemm × 2.0" in first.what, "per step" in found.cause) == ("compute", True, False)
    assert found.cause.startswith("for the same work: ")
    assert first.diff_ns == pytest.approx(80 * 40_000, rel=0.05)
    assert next(one.diff_ns for one in found.parts if one.key == "compute") < 0


def test_as_long_is_not_equal_where_other_work_was_done() -> None:
    found = compared(service(40), service(40, gap=15_000, gemm=45_000))
    assert (found.verdict, found.step_time.base_ns) == ("same", found.step_time.new_ns)
    shorter = compared(service(40), service(80, gap=10_000, gemm=2_500))
    assert shorter.step_time.base_ns == shorter.step_time.new_ns
    assert (shorter.verdict, shorter.step_time.sure_apart_ns < 0) == ("faster", True)


def test_where_nothing_repeats_there_are_no_causes() -> None:
    found = compared(service(40), service(3))
    assert (found.verdict, found.causes) == ("inconclusive", ())


def trained(images: int, length: int, python: bool = False) -> Trace:
    """Five steps that each read so many images."""
    facts = Facts()
    for number in range(5):
        at = 1_000_000 * number
        facts.step(number, at, length + 100_000 + 10 * number)
        op = facts.host("op", "aten::conv2d", at + 100, 5_000)
        facts.row("op_inputs", event=op, shapes=json.dumps([[images, 3, 32, 32], [8, 3, 3, 3]]),
                  dtypes='["float", "float"]')  # fmt: skip
        facts.kernel("implicit_convolve_sgemm", at + 3_000, length + number, launch=(at + 200, 1_000))
        if python:
            facts.host("python", "train.py(3): step", at + 50, 800_000)
    return facts.trace(source=f"{images} {length} {python}")


def test_steps_of_another_batch_are_said_per_item() -> None:
    found = compared(trained(32, 400_000), trained(64, 600_000))
    assert found.verdict == "slower"
    assert "a step reads 32 → 64 images, of which each takes 30.0 % less time" in found.step_time.reason
    figure = found.step_time.steps.figure("throughput")
    assert figure is not None
    assert (figure.unit, (figure.new or 0) > 1.3 * (figure.base or 1)) == ("images/s", True)
    [gate] = judge([growth_limit("throughput<5%")], found.metrics)
    assert not gate.failed


@pytest.mark.parametrize(
    ("what", "base", "new", "said"),
    [
        ("what was run", "PyTorch training, DDP", "PyTorch training, DDP, compiled", "compiled on the new side alone"),
        ("what was run", "PyTorch training", "vLLM serving", "PyTorch training → vLLM serving"),
        ("devices", "1 × A", "1 × B", "devices 1 × A → 1 × B"),
        ("devices", "1 × unnamed device", "1 × B", ""),
        ("world size", "unknown", "8", ""),
        (
            "versions",
            "CUDA runtime 12.1, CUDA driver 12.2",
            "CUDA driver 12.2, CUDA runtime 12.4",
            "CUDA runtime 12.1 → 12.4",
        ),
        ("versions", "CUDA runtime 12.1", "torch_npu 2.1.0", ""),
    ],
)
def test_what_the_sides_do_differently_is_said_first(what: str, base: str, new: str, said: str) -> None:
    from stepscope.comparison.causes.sentence import sentence

    found = compared(trained(32, 400_000), trained(32, 600_000))
    words = sentence(found.step_time, found.causes, (), [RecordedDifference(what, base, new, "")])
    assert words.startswith(said)
    assert words.removeprefix(said).lstrip("; ").startswith("compute surely")


def test_what_recording_costs_is_no_fault_of_the_program() -> None:
    from stepscope.comparison.causes.cause import Cause
    from stepscope.comparison.causes.sentence import sentence

    found = compared(trained(32, 400_000), trained(32, 600_000))
    host = [Cause("idle.host_dispatch", "python", 100_000, 190_000, 80_000, 99_000, True)]
    extra = RecordedDifference("recorded: Python calls", "no", "yes", "")
    assert "recording Python calls on the new side alone may be a part" in sentence(found.step_time, host, (), [extra])
    fewer = RecordedDifference("recorded: Python calls", "yes", "no", "")
    assert "recording" not in sentence(found.step_time, host, (), [fewer])
    assert "recording" not in sentence(found.step_time, found.causes, (), [extra])


@pytest.mark.parametrize(
    ("one", "other"),
    [(trained(32, 400_000), trained(64, 600_000)), (service(80), service(40, gemm=80_000)), (service(40), service(60))],
)
def test_sides_that_are_swapped_are_told_the_other_way_round(one: Trace, other: Trace) -> None:
    there, back = compared(one, other), compared(other, one)
    opposite = {"faster": "slower", "slower": "faster"}
    assert back.verdict == opposite.get(there.verdict, there.verdict)
    sure = [{(cause.part, cause.diff_ns > 0) for cause in found.causes if cause.sure} for found in (there, back)]
    assert sure[1] == {(part, not grown) for part, grown in sure[0]}
