"""What a difference comes from, and how certain each row is."""

from __future__ import annotations

import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.causes.changed import LAUNCHES
from stepscope.comparison.causes.inside import group_words, kernels_words
from stepscope.comparison.causes.sentence import causes_of
from stepscope.comparison.noise.ratio import ratio_interval
from stepscope.comparison.parts.amounts import Beside, StepCounts
from stepscope.comparison.result import Comparison
from stepscope.comparison.verdict import StepTimes
from stepscope.model.trace import Trace
from support import Facts


def job(norm: int = 100_000, shift: int = 0, calls: int = 1) -> Trace:
    """Five steps of a GEMM and batch norms; the host's gap before the next step varies."""
    facts = Facts()
    at = 0
    for number in range(5):
        gap = 300_000 * ((number + shift) % 5)
        length = 2_000_000 + calls * norm + gap
        facts.step(number, at, length)
        facts.kernel("ampere_sgemm_128x128_tn", at + 10_000, 1_000_000, launch=(at + 1_000, 2_000))
        for call in range(calls):
            facts.kernel("bn_fw_tr_1C11_kernel_NCHW", at + 1_010_000 + call * norm, norm, launch=(at + 4_000, 2_000))
        facts.kernel("vectorized_elementwise_kernel", at + length - 5_000, 4_000, launch=(at + length - 9_000, 2_000))
        at += length
    return facts.trace()


def compared(new: Trace) -> Comparison:
    return compare_traces(job(), new, CompareOptions(findings=False))


def test_what_is_certain_is_said_though_the_step_is_within_noise() -> None:
    found = compared(job(150_000, shift=2))
    assert found.verdict == "inconclusive"
    assert found.cause.startswith("step: within noise; compute surely +4.5 % (+50.0 µs per step): normalisation × 1.50")
    [compute] = [one for one in found.parts if one.key == "compute"]
    assert compute.sure is True
    waits = [one.sure for one in found.parts if one.key.startswith("idle") and one.base_ns > 100_000]
    assert waits
    assert not any(waits)
    rows = {row["op_class"]: row for row in found.table("compute_classes").records()}
    assert (rows["normalisation"]["sure"], rows["gemm"]["sure"]) == (True, False)
    assert rows["normalisation"]["low_ns"] <= 50_000 <= rows["normalisation"]["high_ns"]


def test_more_calls_are_no_longer_calls() -> None:
    assert "1 → 2 launches" in compared(job(calls=2)).cause


def test_noise_alone_has_no_cause() -> None:
    found = compared(job(shift=3))
    assert not any(one.sure for one in found.causes)


def varying(copies: int = 20_000, parts: int = 1, shift: int = 0) -> Trace:
    """Five steps whose GEMM varies by a third, with elementwise kernels of a fiftieth of a step."""
    facts = Facts()
    at = 0
    for number in range(5):
        gemm = 800_000 + 80_000 * ((number + shift) * 2 % 5)
        length = 1_400_000 + 50_000 * ((number + shift) * 3 % 5) + 9 * shift
        facts.step(number, at, length)
        facts.kernel("ampere_sgemm_128x128_tn", at + 10_000, gemm, launch=(at + 1_000, 2_000))
        for part in range(parts):
            name = "vectorized_elementwise_kernel" if parts == 1 else f"elementwise_part{part}_kernel"
            start = at + 1_200_000 + part * copies
            facts.kernel(name, start, copies // parts + number, launch=(at + 4_000 + 10 * part, 5))
        at += length
    return facts.trace()


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (varying(60_000, shift=1), "in compute surely +200.0 % (+40.0 µs per step): elementwise × 3.00"),
        (
            varying(60_000, parts=3, shift=1),
            "elementwise: 1 → 3 launches (elementwise_part0_kernel, elementwise_part1_kernel)",
        ),
        (varying(21_000, shift=1), ""),
        (varying(20_000, parts=2, shift=1), ""),
    ],
    ids=["longer", "split", "too little", "replaced by as long"],
)
def test_what_is_sure_within_a_part_that_varies_is_said(new: Trace, said: str) -> None:
    found = compare_traces(varying(), new, CompareOptions(findings=False))
    assert not any(one.sure for one in found.parts if one.key == "compute")
    sure = [one for one in found.causes if one.sure and one.part == "compute"]
    assert bool(sure) == bool(said)
    assert said in found.cause
    assert all(one.within and one.to_json()["within"] for one in sure)


def many_kernels(each: int, steps: int) -> Trace:
    """Steps of 600 kernels in all that take so long, the same in all of them."""
    facts, at, number = Facts(), 0, 600 // steps
    for step in range(steps):
        length = number * (each + 500) + 20_000 + 2_000 * (step % 3)
        facts.step(step, at, length)
        for call in range(number):
            facts.kernel("ampere_sgemm_128x128_tn", at + 9_000 + call * (each + 500), each, launch=(at + call, 1))
        at += length
    return facts.trace()


@pytest.mark.parametrize(("steps", "each", "sure"), [(1, 10_300, False), (1, 11_000, True), (6, 10_095, False)])
def test_what_a_warm_device_takes_longer_is_no_cause(steps: int, each: int, sure: bool) -> None:
    """Its kernels take longer by the same factor: however many there are, that is one observation of it."""
    found = compare_traces(many_kernels(10_000, steps), many_kernels(each, steps), CompareOptions(findings=False))
    assert any(one.sure and one.part == "compute" for one in found.causes) is sure


@pytest.mark.parametrize(("half", "sure"), [(90, True), (110, False)])
def test_the_part_that_makes_up_a_sure_difference_is_asked_for_alone(half: float, sure: bool) -> None:
    parts = (Beside("exposed_communication", 100, 200, 1.0, 1.0, half), Beside("compute", 800, 810, 1.0, 1.0, 1.0))
    times = StepTimes(1000, 1110, 1000, 1110, 5, 5, ratio_interval([999, 1000, 1001], [1109, 1110, 1111]),
                      "step", "slower", "")  # fmt: skip
    strict = {"exposed_communication": 120.0, "compute": 15.0}
    first, *_ = causes_of(parts, strict, {}, times, {}, StepCounts(5, 5))
    assert (first.part, first.sure) == ("exposed_communication", sure)


def row(kernel: str, base: int, new: int, calls: tuple[int, int] = (1, 1)) -> dict[str, object]:
    return {"kernel": kernel, "operator": "aten::mm", "op_class": "gemm", "base_ns": base, "new_ns": new,
            "base_count": calls[0], "new_count": calls[1]}  # fmt: skip


def test_words_for_kernels() -> None:
    every = [row(name, time, round(1.1 * time)) for name, time in (("a", 500), ("b", 300), ("c", 200))]
    assert kernels_words(every, LAUNCHES) == "all of it × 1.10"
    part = [row("a", 9000, 9000), row("b", 500, 760), row("c", 400, 600), row("d", 100, 150)]
    assert "all of it" not in kernels_words(part, LAUNCHES)
    assert group_words("gemm", every, LAUNCHES) == "gemm × 1.10"
    split = [row("a", 900, 0, (3, 0)), row("a1", 0, 700, (0, 3)), row("a2", 0, 800, (0, 3))]
    assert kernels_words(split, LAUNCHES).startswith("gemm: a → a2, a1, 3 → 6 launches, together × 1.67")
    assert kernels_words([row("a", 100, 0, (1, 0)), row("b", 5, 5)], LAUNCHES).startswith("a: gone")


def test_a_kernel_that_another_operator_launches_keeps_its_name() -> None:
    moved = [row("sgemm", 900, 0, (4, 0)), {**row("sgemm", 0, 1440, (0, 2)), "operator": "(no operator)"}]
    assert kernels_words(moved, LAUNCHES) == "gemm: 4 → 2 launches, each × 3.20 (sgemm)"


def test_kernels_of_other_names_are_said_by_class() -> None:
    gone = [row(f"sm90_{i}", 100, 0, (1, 0)) for i in range(4)]
    come = [row(f"aclnn_{i}", 0, 300, (0, 1)) for i in range(4)]
    assert kernels_words([*gone, *come], LAUNCHES) == "hardly any kernel in common: gemm × 3.00"
    assert "in common" not in kernels_words([*gone[:1], *come[:1]], LAUNCHES)


def launched(kernel: int, host: int = 10_000) -> Trace:
    """Five steps of twenty operators, each of which launches a kernel as soon as host and device allow it."""
    facts, at = Facts(), 0
    for number in range(5):
        free, begun = at, at
        for i in range(20):
            facts.host("op", f"aten::op{i % 4}", at, host - 100)
            free = max(free, at + host - 1_000)
            facts.kernel(f"sgemm_{i % 4}", free, kernel + 10 * number, launch=(at + host - 3_000, 1_000))
            free, at = free + kernel + 10 * number, at + host
        at = max(at, free) + 5_000
        facts.step(number, begun, at - begun - 100)
    return facts.trace(source=f"{kernel} {host}")


@pytest.mark.parametrize(
    ("base", "new", "part", "said"),
    [
        (launched(30_000), launched(3_000), "idle.host_dispatch", "the host takes no longer, but the device is faster"),
        (launched(3_000), launched(30_000), "idle.host_dispatch", "the host takes no less, but the device is slower"),
        (launched(3_000), launched(3_000, 15_000), "idle.host_dispatch", "all of the host's calls × 1.4"),
    ],
)
def test_a_host_that_takes_as_long_is_not_to_blame(base: Trace, new: Trace, part: str, said: str) -> None:
    found = compare_traces(base, new, CompareOptions(findings=False))
    [cause] = [one for one in found.causes if one.part == part]
    assert said in cause.what
    assert ("device is" in cause.what) == ("device is" in said)
