"""What a difference comes from, and how certain each row is."""

from __future__ import annotations

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.causes.inside import kernels_words
from stepscope.comparison.result import Comparison
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


def row(kernel: str, base: int, new: int, calls: tuple[int, int] = (1, 1)) -> dict[str, object]:
    return {"kernel": kernel, "operator": "aten::mm", "op_class": "gemm", "base_ns": base, "new_ns": new,
            "base_count": calls[0], "new_count": calls[1]}  # fmt: skip


def test_words_for_kernels() -> None:
    every = [row(name, time, round(1.1 * time)) for name, time in (("a", 500), ("b", 300), ("c", 200))]
    assert kernels_words(every, "launches") == "all of it × 1.10"
    split = [row("a", 900, 0, (3, 0)), row("a1", 0, 700, (0, 3)), row("a2", 0, 800, (0, 3))]
    assert kernels_words(split, "launches").startswith("a → a2, a1, 3 → 6 launches")
    assert kernels_words([row("a", 100, 0, (1, 0)), row("b", 5, 5)], "launches").startswith("a: gone")


def test_kernels_of_other_names_are_said_by_class() -> None:
    gone = [row(f"sm90_{i}", 100, 0, (1, 0)) for i in range(4)]
    come = [row(f"aclnn_{i}", 0, 300, (0, 1)) for i in range(4)]
    assert kernels_words([*gone, *come], "launches") == "hardly any kernel in common: gemm × 3.00"
    assert "in common" not in kernels_words([*gone[:1], *come[:1]], "launches")
