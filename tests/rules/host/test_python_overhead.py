from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals import host, job


def given(share: float = 0.4, idle: float = 0.5, gap: int = 40_000) -> dict[object, object]:
    return {
        host.python_share: share,
        host.idle_share: idle,
        host.python_per_operator_ns: gap,
        host.in_python: (np.array([0]), np.array([300])),
        host.window_ns: 1_000,
        job.steps: 3,
        job.platform: "cuda",
    }


def test_python_between_operators_is_found() -> None:
    (draft,) = drafts("HST004", given())
    assert draft.summary.endswith("while the host is in Python: 40.0 µs for each operator that it calls.")
    assert draft.change is not None
    assert draft.change.time[0].ends.tolist() == [300]


def test_little_idle_time_or_most_of_it_elsewhere_just_misses() -> None:
    assert drafts("HST004", given(share=0.0299, idle=0.03)) == []
    assert drafts("HST004", given(share=0.2, idle=0.41)) == []
    assert len(drafts("HST004", given(share=0.2, idle=0.4))) == 1


def test_what_a_module_usually_takes_just_misses() -> None:
    assert drafts("HST004", given(gap=14_999)) == []
    assert len(drafts("HST004", given(gap=15_000))) == 1


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST004", {})
