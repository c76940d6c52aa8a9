from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import cpu_operators
from stepscope.signals.shared import job

FOUND = cpu_operators.CpuOperatorCalls(
    np.array([3, 8]), np.array([0, 10]), np.array([300_000, 100_000]), ("aten::sort", "aten::cumsum")
)


def given(share: float, platform: str = "cuda") -> dict[object, object]:
    return {
        cpu_operators.working: FOUND,
        cpu_operators.working_share: share,
        job.recorded_steps: 2,
        job.platform: platform,
    }


def test_operators_on_the_host_are_named() -> None:
    (draft,) = drafts("HST007", given(0.2))
    assert figures(draft.summary) == ["20.0 %", "200 µs", "aten::cumsum", "aten::sort"]
    assert draft.change is not None
    assert draft.change.host[0].factor == pytest.approx(0.05)


def test_the_code_is_that_of_the_platform() -> None:
    assert 'device="npu"' in drafts("HST007", given(0.2, "npu"))[0].actions[0].after


def test_layers_that_were_left_on_the_host_are_moved() -> None:
    left = replace(FOUND, names=("aten::mm", "aten::sort"))
    (draft,) = drafts("HST007", given(0.2) | {cpu_operators.working: left})
    assert draft.actions[0].after.startswith('self.head = make_head().to("cuda")')


def test_just_below_the_threshold_nothing_is_found() -> None:
    assert drafts("HST007", given(0.0099)) == []
    assert len(drafts("HST007", given(0.01))) == 1


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST007", {})
