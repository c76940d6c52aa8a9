"""Experts that are computed one after another on NPUs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from operator_support import Program
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.kernels.npu_experts import expert_loops

UP, DOWN = (1024, 512), (512, 1024)


def layer(program: Program, tokens: Sequence[int], *, choice: str = "aten::topk", shapes: bool = True) -> None:
    """A router, and an expert for each of these numbers of tokens."""
    program.call("aten::mm", *(((300, 1024), (1024, 64)) if shapes else ()))
    program.call("aten::_softmax", *(((300, 64),) if shapes else ()))
    program.call(choice, kernel="TopKV2" if "topk" in choice else "Sort")
    for number in tokens:
        program.call("aten::mm", *(((number, 1024), UP) if shapes else ()))
        program.call("aten::silu", *(((number, 512),) if shapes else ()))
        program.call("aten::mm", *(((number, 512), DOWN) if shapes else ()))
    program.call("aten::cumsum", *(((300, 1024),) if shapes else ()))


def recorded(program: Program, reader: str = "ascend") -> Signals:
    program.wait()
    program.facts.step(0, 0, program.now)
    return Signals.of(program.facts.trace(reader=reader))


def test_a_loop_leaves_the_host_a_part_and_the_device_all() -> None:
    program = Program()
    layer(program, (10, 20, 30, 40))
    layer(program, (11, 21, 31, 41, 51))
    found = recorded(program)(expert_loops)
    assert found.count == 2
    assert found.before_ns == found.after_ns == (4 * 3 + 5 * 3) * 20_000
    # 12 operators of 10 us to a quarter, 15 to a fifth.
    assert (found.host_ns, found.host_after_ns) == (270_000, 60_000)
    assert found.share > 0


@pytest.mark.parametrize(
    "tokens",
    [
        (10, 20, 30),  # too few
        (64, 64, 64, 64, 9),  # one length, and the rest: parts
    ],
)
def test_what_is_cut_into_parts_or_too_few_is_no_loop_over_experts(tokens: tuple[int, ...]) -> None:
    program = Program()
    layer(program, tokens)
    assert recorded(program)(expert_loops).count == 0


def test_multiplications_that_no_choice_precedes_are_none_of_experts() -> None:
    program = Program()
    layer(program, (10, 20, 30, 40), choice="aten::sort")
    assert recorded(program)(expert_loops).count == 0


def test_those_behind_the_next_attention_are_not_of_this_choice() -> None:
    program = Program()
    layer(program, (10, 20))
    program.call("npu::npu_fusion_attention", (300, 1024))
    for number in (30, 40, 50):
        program.call("aten::mm", (number, 1024), UP)
    assert recorded(program)(expert_loops).count == 0


def test_without_shapes_nothing_is_told() -> None:
    program = Program()
    layer(program, (10, 20, 30, 40), shapes=False)
    assert recorded(program)(expert_loops).count == 0


def test_other_devices_have_other_operators() -> None:
    program = Program()
    layer(program, (10, 20, 30, 40))
    with pytest.raises(MissingInputError):
        recorded(program, reader="kineto")(expert_loops)
