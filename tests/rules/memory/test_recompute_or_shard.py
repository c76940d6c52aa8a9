from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import process_groups
from stepscope.signals.memory import memory
from stepscope.signals.memory.memory import Peak

GIB = 1 << 30


def given(baseline: int | None, ranks: int | None = 8, share: float = 0.95) -> dict[object, object]:
    return {
        memory.used_share: share,
        memory.fullest: Peak(0, 76 * GIB, False, 78 * GIB, 80 * GIB, None if baseline is None else baseline * GIB),
        memory.failures: (),
        process_groups.world_size: ranks,
    }


def test_activations_are_to_be_recomputed() -> None:
    (draft,) = drafts("MEM009", given(38))
    assert {"38.0 GiB", "76.0 GiB"} <= set(figures(draft.summary))
    assert "checkpoint" in draft.actions[0].after


def test_states_are_to_be_sharded_with_the_least_stage_that_suffices() -> None:
    # 76 - 60 x 12/16 x 7/8 = 36.6 GiB.
    (draft,) = drafts("MEM009", given(60))
    assert {"1", "36.6 GiB", "45.8 %", "8"} <= set(figures(draft.summary))
    assert "ZeroRedundancyOptimizer" in draft.actions[0].after


def test_a_failed_allocation_counts_as_full() -> None:
    failed = {**given(60, share=0.5), memory.failures: ({"verdict": "shortage"},)}
    assert len(drafts("MEM009", failed)) == 1


def test_room_is_left_alone() -> None:
    assert drafts("MEM009", given(60, share=0.8999)) == []


def test_one_rank_can_not_shard() -> None:
    assert drafts("MEM009", given(60, ranks=1)) == []


def test_without_steps_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM009", given(None))
