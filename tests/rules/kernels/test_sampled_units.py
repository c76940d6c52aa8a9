from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.rules.rule import Draft
from stepscope.signals.kernels import unit_use
from stepscope.signals.kernels.dominance import Dominance, compute
from stepscope.signals.kernels.kernel_times import Alike
from stepscope.signals.kernels.unit_use import UnitUse
from stepscope.signals.shared import job

_GOOD = {"SMs": 0.9, "issue": 0.5, "tensor cores": 0.4, "memory": 0.4}


def _found(busy: float = 0.8, gemm: float = 0.4, samples: int = 20, sampled: bool = True, **use: Any) -> list[Draft]:
    kernel = Alike("work(int)", "work", "gemm", "", np.array([3, 4]), 5_000_000, 0.3, None, None)
    given: dict[Any, Any] = {
        unit_use.unit_use: UnitUse(samples, sampled, use if not sampled else {**_GOOD, **use}),
        compute: Dominance(10_000_000, busy, (("gemm", gemm), ("elementwise", busy - gemm)), (kernel,)),
        job.recorded_steps: 2,
    }
    return drafts("KRN024", given)


@pytest.mark.parametrize(
    ("use", "key", "told"),
    [
        ({"memory": 0.6}, "memory", {"60.0 %", "40.0 %", "80.0 %", "20"}),
        ({"SMs": 0.49}, "SMs", {"49.0 %"}),
        ({"SMs": 0.7, "issue": 0.29, "tensor cores": 0.1, "memory": 0.2}, "waiting", {"70.0 %", "29.0 %"}),
        ({"tensor cores": 0.004}, "tensor cores", {"0.4 %", "40.0 %"}),
    ],
)
def test_each_limit_is_told_with_what_was_sampled(use: dict[str, float], key: str, told: set[str]) -> None:
    (draft,) = _found(**use)
    assert draft.key == key
    assert told <= set(figures(draft.summary))
    assert (draft.taken_ns, draft.events.tolist()) == (4_000_000, [3, 4])


@pytest.mark.parametrize(
    "use",
    [
        {},
        {"memory": 0.599},
        {"SMs": 0.5},
        {"SMs": 0.69, "issue": 0.1, "tensor cores": 0.1, "memory": 0.1},
        {"SMs": 0.9, "issue": 0.1, "tensor cores": 0.3, "memory": 0.1},
        {"tensor cores": 0.005},
        {"tensor cores": 0.0, "gemm": 0.23},
        {"memory": 0.9, "busy": 0.199, "gemm": 0.1},
        {"memory": 0.9, "samples": 19},
    ],
)
def test_what_is_used_well_or_known_of_little_is_left_alone(use: dict[str, Any]) -> None:
    assert _found(**use) == []


def test_counters_of_kernels_tell_of_memory_alone() -> None:
    (draft,) = _found(samples=2, sampled=False, memory=0.75)
    assert {"75.0 %", "2"} <= set(figures(draft.summary))
    assert draft.rows == ({"table": "core_metrics"},)


def test_a_cause_is_told_by_names_or_grids_where_these_are_known() -> None:
    (memory,), (matrix,) = _found(memory=0.7), _found(**{"tensor cores": 0.0})
    assert memory.apart_from == ("KRN001", "KRN004", "KRN016")
    assert matrix.apart_from == ("KRN004", "KRN016")


def test_without_samples_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN024", {})
