from __future__ import annotations

import numpy as np
import pytest

from operator_support import GEMM, Program
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.shared.operations import operations
from stepscope.signals.shared.tensor_shapes import tensors
from support import Facts


def test_operators_say_what_they_do_and_on_how_much() -> None:
    program = Program()
    op, kernel = program.call("aten::mul", (8, 4), (4,))
    program.call("aten::_softmax", (8, 4))
    w = Signals.of(program.facts.trace())(operations)
    assert w.letters == "mS\n"
    assert w.size.tolist() == [32, 32, 0]
    assert w.op.tolist() == [op, op + 3, -1]
    assert w.dur.tolist() == [20_000, 20_000, 0]
    assert w.kernels.tolist() == [kernel, kernel + 3]
    assert w.within(np.array([1])).tolist() == [1]
    assert w.shapes[w.shape[0]] == "[[8, 4], [4]]"


def test_kernels_of_one_operator_are_one_operation() -> None:
    facts = Facts()
    facts.host("op", "aten::mm", 0, 100)
    facts.kernel("Memset (Device)", 20, 5, launch=(10, 5), kind="set")
    first = facts.kernel(GEMM, 30, 50, launch=(20, 5))
    second = facts.kernel("splitKreduce_kernel", 90, 10, launch=(40, 5))
    w = Signals.of(facts.trace())(operations)
    assert w.letters == "P\n"
    assert w.dur.tolist() == [60, 0]
    assert w.kernels[w.within(np.array([0]))].tolist() == [first, second]


def test_kernels_without_a_telling_operator_speak_for_themselves() -> None:
    facts = Facts()
    facts.host("op", "CompiledFunction", 0, 100)
    facts.kernel(GEMM, 30, 50, launch=(20, 5), grid=[4, 2, 3], block=[128, 1, 1])
    facts.kernel("Cast12", 90, 10, launch=(40, 5))
    facts.kernel("ncclDevKernel_AllReduce", 120, 10, launch=(60, 5), kind="comm")
    w = Signals.of(facts.trace())(operations)
    assert w.letters == "Pc#\n"
    assert w.op.tolist() == [-1] * 4
    assert w.size.tolist()[:2] == [-4 * 2 * 3 * 128, 0]
    assert w.depth.tolist()[:2] == [3, 0]


def test_an_operator_around_the_library_s_call_tells_what_it_does_on_how_much() -> None:
    facts = Facts()
    outer = facts.host("op", "aten::gelu", 0, 100)
    facts.row("op_inputs", event=outer, shapes="[[8, 4]]", dtypes='["float"]')
    facts.host("op", "aclnnGelu", 10, 80)
    facts.kernel("aclnnGelu_GeluAiCore_Gelu", 30, 50, launch=(20, 5))
    facts.host("op", "evaluate_function: GeluBackward0", 200, 100)
    facts.host("op", "custom", 210, 80)
    facts.kernel("aclnnGeluBackward_GeluGradAiCore_GeluGrad", 230, 50, launch=(220, 5))
    w = Signals.of(facts.trace())(operations)
    assert w.letters == "AB\n"
    assert w.op.tolist() == [outer, -1, -1]
    assert w.size.tolist()[:2] == [32, 0]


def test_queues_follow_each_other_with_a_boundary_between() -> None:
    program = Program()
    program.call("aten::mul", (4,))
    program.call("aten::add", (4,), stream="9")
    program.call("aten::neg", (4,))
    assert Signals.of(program.facts.trace())(operations).letters == "mn\na\n"


def test_threads_tell_sizes_up_to_what_a_thread_takes() -> None:
    facts = Facts()
    for number, blocks in enumerate((64, 32, 8)):
        facts.kernel("Mul1", number * 10, 5, grid=[blocks, 1, 1], block=[128, 1, 1])
    w = Signals.of(facts.trace())(operations)
    assert w.alike(np.array([0, 1, 0]), np.array([1, 2, 2])).tolist() == [True, True, False]


def test_without_device_work_it_abstains() -> None:
    facts = Facts()
    for at in range(3):
        facts.host("op", "aten::mul", 100 * at, 80)
    with pytest.raises(MissingInputError, match="no device activity"):
        Signals.of(facts.trace())(operations)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[2,3],[],[4]]", ((2, 3), (4,))),
        ("[[[2,3],[2,5]],[]]", ((2, 3), (2, 5))),
        ("[[2,true],[\"x\"],3]", ()),
        ("{", ()),
        ("7", ()),
        ("[" * 100_000, ()),
    ],
)  # fmt: skip
def test_shapes_are_read_as_far_as_they_are_shapes(text: str, expected: tuple[tuple[int, ...], ...]) -> None:
    assert tensors(text) == expected
