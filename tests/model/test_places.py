from __future__ import annotations

import pytest

from stepscope.model.places import operator_within, short_place, source_line


@pytest.mark.parametrize(
    ("frame", "short"),
    [
        ("/home/me/proj/modules/softmax.py(14): forward", "modules/softmax.py:14 (forward)"),
        ("train.py(3): main", "train.py:3 (main)"),
        ("C:/a/b/c.py(0): f", "b/c.py (f)"),
        ("train.py(3)", "train.py:3"),
        ("DivBackward0", "DivBackward0"),
        ("at::_ops::mm::call(at::Tensor const&)", "at::_ops::mm::call(at::Tensor const&)"),
        ("unknown", "unknown"),
    ],
)
def test_a_place_is_written_as_editors_know_it(frame: str, short: str) -> None:
    assert short_place(frame) == short
    assert source_line(frame) == short.partition(" (")[0]


@pytest.mark.parametrize(
    ("frames", "operator"),
    [
        (["at::_ops::_softmax::call(int)", "at::_ops::softmax_int::call(int)", "net.py(3): f", "at::_ops::add::call()"],
         "softmax_int"),
        (["at::_ops::conv::call(int)", "/v/torch/nn/functional.py(9): _conv", "net.py(3): f"], "conv"),
        (["net.py(3): f"], None), ([], None), (None, None),
    ],
)  # fmt: skip
def test_the_operator_is_the_outermost_that_the_innermost_code_called(
    frames: list[str] | None, operator: str | None
) -> None:
    assert operator_within(frames) == operator
