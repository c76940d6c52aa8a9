"""What typical steps read."""

from __future__ import annotations

import json

import pytest

from stepscope.analyses.steps.throughput import throughput
from support import Facts

WORDS, IMAGES = [[30_522, 512], [2, 141]], [[8, 3, 224, 224], [64, 3, 7, 7]]


def recording(
    name: str, shapes: list[list[int]], *, marked: bool = True, calls: int = 1, beside: tuple[str, ...] = ()
) -> Facts:
    """Three steps of a training job that call an operator on the main thread, and once on that of the backward pass."""
    facts = Facts()
    for number in range(3):
        at = number * 1_000_000
        if marked:
            facts.step(number, at, 1_000_000)
        for call in range(calls):
            _call(facts, name, at + 10_000 + call * 20_000, shapes)
        for other in beside:
            facts.host("op", other, at + 300_000, 1_000)
        _call(facts, name, at + 500_000, shapes, thread="2")
        facts.host("op", "autograd::engine::evaluate_function: MmBackward0", at + 600_000, 10_000, thread="2")
        facts.kernel("gemm", at + 400_000, 500_000, launch=(at + 390_000, 2_000))
    return facts


def _call(facts: Facts, name: str, at: int, shapes: list[list[int]], thread: str = "1") -> None:
    op = facts.host("op", name, at, 10_000, thread=thread)
    facts.row("op_inputs", event=op, shapes=json.dumps([*shapes, []]))


def read(facts: Facts) -> list[tuple[str, str, float]]:
    rows = throughput(facts.trace(attributes={"framework": "pytorch"})).records()
    return [(row["unit"], row["shape"], row["per_step"]) for row in rows]


def test_tokens_are_what_the_largest_vocabulary_is_asked_for() -> None:
    facts = recording("aten::embedding", WORDS, beside=("aten::scaled_dot_product_attention",))
    _call(facts, "aten::embedding", 100_000, [[512, 512], [1, 141]])  # positions
    assert read(facts) == [("tokens", "2 x 141", 282.0)]


def test_images_are_those_of_first_convolutions_of_all_micro_batches() -> None:
    assert read(recording("aten::conv2d", IMAGES)) == [("images", "8 x 3 x 224 x 224", 8.0)]
    assert read(recording("aten::conv2d", IMAGES, calls=2)) == [("images", "8 x 3 x 224 x 224", 16.0)]


@pytest.mark.parametrize(
    ("name", "shapes", "beside"),
    [
        ("aten::embedding", WORDS, ()),  # a table of a recommendation model
        ("aten::embedding", [[4_999, 512], [2, 141]], ("aten::_softmax",)),
        ("aten::conv2d", [[8, 5, 224, 224], [64, 5, 7, 7]], ()),
        ("aten::conv2d", [[8, 3, 15, 224], [64, 3, 7, 7]], ()),
        ("aten::mm", [[8, 3], [3, 8]], ()),
    ],
)
def test_other_shapes_tell_nothing(name: str, shapes: list[list[int]], beside: tuple[str, ...]) -> None:
    assert read(recording(name, shapes, beside=beside)) == []


def test_without_steps_there_is_nothing_per_step() -> None:
    facts = Facts()
    _call(facts, "aten::conv2d", 0, IMAGES)
    facts.kernel("gemm", 100_000, 500_000, launch=(50_000, 2_000))
    assert read(facts) == []
