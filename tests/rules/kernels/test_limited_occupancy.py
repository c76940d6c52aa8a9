from __future__ import annotations

import pytest

from counted_support import given
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend

STARVED = {"eligible_warps": 0.3, "occupancy": 0.24, "limit_registers": 2.0, "limit_shared": 5.0, "limit_warps": 16.0,
           "registers": 128.0}  # fmt: skip


def test_registers_that_leave_schedulers_idle() -> None:
    (draft,) = drafts("KRN021", given(**STARVED))
    assert {"0.30", "24.0 %", "2", "128"} <= set(figures(draft.summary))
    assert "__launch_bounds__" in draft.actions[0].after
    (draft,) = drafts("KRN021", given(**{**STARVED, "limit_shared": 1.0, "shared_bytes": 98_304.0}))
    assert "num_stages" in draft.actions[0].after


@pytest.mark.parametrize(
    "changed",
    [{"eligible_warps": 1.0}, {"occupancy": 0.501}, {"limit_warps": 1.0}, {"compute_busy": 0.6}],
)
def test_occupancy_that_does_no_harm(changed: dict[str, float]) -> None:
    assert drafts("KRN021", given(**{**STARVED, **changed})) == []


def test_occupancy_without_counters_of_schedulers() -> None:
    assert drafts("KRN021", given(occupancy=0.1, limit_registers=1.0)) == []


def test_without_counters_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN021", {ascend.recorded: False})
