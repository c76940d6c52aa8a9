"""Dropout that is written out, and dropout of a softmax, on NPUs."""

from __future__ import annotations

import pytest

from operator_support import Program
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.kernels import npu_dropouts

X, PART, SCORES = (4096, 1024), (4096, 1), (4, 16, 256, 256)


#: Operators that no pattern knows are told by their kernels.
_KERNELS: dict[object, str] = {
    "aten::uniform_": "aclnnInplaceUniform_StatelessRandomUniformV2AiCore_StatelessRandomUniformV2",
    "aten::normal_": "aclnnInplaceNormal_StatelessRandomNormalV2AiCore_StatelessRandomNormalV2",
}


def recorded(calls: tuple[tuple[object, ...], ...], reader: str = "ascend") -> Signals:
    program = Program()
    for name, *shapes in calls:
        kernel = _KERNELS.get(name, "kernel")
        program.call(name, *shapes, dur=20_000, kernel=kernel)  # type: ignore[arg-type]
    program.facts.step(0, 0, program.now)
    return Signals.of(program.facts.trace(reader=reader))


@pytest.mark.parametrize(
    ("names", "count"),
    [
        (("aten::uniform_", "aten::gt", "aten::_to_copy", "aten::mul", "aten::div"), 1),
        (("aten::uniform_", "aten::lt", "aten::mul", "aten::mul"), 1),
        (("aten::uniform_", "aten::lt", "aten::masked_fill", "aten::mul"), 1),
        (("aten::bernoulli_", "aten::div_", "aten::mul"), 1),
        (("aten::bernoulli_", "aten::mul"), 0),  # a mask without a scale is something else
        (("aten::uniform_", "aten::mul", "aten::mul"), 0),  # noise, not a mask
        (("aten::normal_", "aten::gt", "aten::mul", "aten::div"), 0),
        (("aten::native_dropout", "aten::mul", "aten::mul"), 0),
    ],
)
def test_dropout_is_told_by_its_random_numbers_mask_and_scale(names: tuple[str, ...], count: int) -> None:
    signals = recorded(tuple((name, X) for name in names))
    assert signals(npu_dropouts.dropouts).count == count


def test_a_mask_of_whole_rows_is_no_dropout() -> None:
    calls = (("aten::bernoulli_", PART), ("aten::div_", PART), ("aten::mul", X, PART))
    assert recorded(calls)(npu_dropouts.dropouts).count == 0


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        (SCORES, 1),
        ((4, 8, 128, 512), 1),
        ((3, 8, 256, 256), 0),  # 24 matrices
        ((4, 16, 256, 1024), 0),
        ((64, 256, 256), 0),
    ],
)
def test_dropout_of_a_softmax_is_told_by_the_shapes_that_the_operator_takes(shape: tuple[int, ...], count: int) -> None:
    calls = (("aten::add", shape, shape), ("aten::_softmax", shape), ("aten::native_dropout", shape))
    assert recorded(calls)(npu_dropouts.dropped_softmaxes).count == count


def test_a_bias_that_is_broadcast_or_of_unknown_shape_is_not_taken() -> None:
    broadcast = (("aten::add", SCORES, (4, 1, 256, 256)), ("aten::_softmax", SCORES), ("aten::native_dropout", SCORES))
    assert recorded(broadcast)(npu_dropouts.dropped_softmaxes).count == 0
    unknown = (("aten::add",), ("aten::_softmax",), ("aten::native_dropout",))
    assert recorded(unknown)(npu_dropouts.dropped_softmaxes).count == 0


def test_other_devices_have_other_operators() -> None:
    with pytest.raises(MissingInputError):
        recorded((("aten::bernoulli_", X),), reader="kineto")(npu_dropouts.dropouts)
