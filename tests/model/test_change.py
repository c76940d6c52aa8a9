from __future__ import annotations

import numpy as np

from stepscope.model.events.change import scaled_each


def test_events_with_nearly_the_same_factor_are_scaled_together() -> None:
    parts = scaled_each(np.array([1, 2, 3, 4]), np.array([0.5, 0.504, 1.0, -0.1]))
    assert [(part.events.tolist(), part.factor) for part in parts] == [([4], 0.0), ([1, 2], 0.5)]


def test_nothing_to_scale_is_no_part() -> None:
    assert scaled_each(np.zeros(0, np.int64), np.zeros(0)) == ()


def test_factors_are_rounded_as_finely_as_asked() -> None:
    parts = scaled_each(np.array([1, 2, 3]), np.array([0.5, 0.504, 0.9996]), 1000)
    assert [(part.events.tolist(), part.factor) for part in parts] == [([1], 0.5), ([2], 0.504)]
