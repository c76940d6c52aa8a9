from __future__ import annotations

import pytest

from stepscope.model.places import short_place


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
