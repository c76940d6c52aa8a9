from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.memory import memory, recomputed
from stepscope.signals.memory.memory import Peak
from support import Facts

GIB = 1 << 30
MS = 1_000_000


def given(share: float, used: float | None = None, *, bound: bool = False) -> dict[object, object]:
    known: dict[object, object] = {
        recomputed.recomputed_share: share,
        recomputed.recomputed_ns: 12 * MS,
        recomputed.recomputing: np.array([7, 8]),
    }
    if used is not None:
        known |= {memory.used_share: used, memory.fullest: Peak(0, 40 * GIB, bound, 41 * GIB, 80 * GIB, None)}
    return known


def test_recomputation_where_memory_has_room_has_a_price() -> None:
    (draft,) = drafts("MEM018", given(0.2, 0.5))
    assert {"12.0 ms", "20.0 %", "40.0 GiB", "50.0 %"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.device[0].events.tolist() == [7, 8]


@pytest.mark.parametrize("case", [given(0.2), given(0.2, 0.5, bound=True)])
def test_without_the_peak_there_is_no_price(case: dict[object, object]) -> None:
    (draft,) = drafts("MEM018", case)
    assert draft.change is None
    assert draft.taken_ns == 12 * MS


def test_little_recomputation_and_full_memory_just_miss() -> None:
    assert drafts("MEM018", given(0.0299, 0.5)) == []
    assert drafts("MEM018", given(0.2, 0.7001)) == []
    assert len(drafts("MEM018", given(0.03, 0.7))) == 1


def test_without_phases_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM018", {})


def test_kernels_launched_while_activations_are_recomputed_count() -> None:
    f = Facts()
    f.step(0, 0, 100 * MS)
    f.host("op", "aten::mm", 1 * MS, MS)
    f.host("python", "torch/utils/checkpoint.py(9): recompute_fn", 50 * MS, 20 * MS)
    f.kernel("forward", 5 * MS, 10 * MS, launch=(1 * MS, 1000))
    again = f.kernel("again", 55 * MS, 6 * MS, launch=(52 * MS, 1000))
    f.kernel("saved", 62 * MS, 3 * MS, kind="copy", launch=(53 * MS, 1000))
    f.kernel("backward", 75 * MS, 20 * MS, launch=(72 * MS, 1000))
    signals = Signals.of(f.trace())
    assert signals(recomputed.recomputing).tolist() == [again]
    assert signals(recomputed.recomputed_ns) == 6 * MS
