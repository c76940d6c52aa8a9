from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import layout, process_groups
from stepscope.signals.memory import memory
from stepscope.signals.memory.memory import Peak
from stepscope.signals.shared import job

GIB = 1 << 30


def given(
    baseline: int | None, ranks: int | None = 8, share: float = 0.95, *, megatron: bool = False, **sizes: int | None
) -> dict[object, object]:
    return {
        memory.used_share: share,
        memory.fullest: Peak(0, 76 * GIB, False, 78 * GIB, 80 * GIB, None if baseline is None else baseline * GIB),
        memory.failures: (),
        layout.layout: layout.ParallelSizes(ranks, **{"data": ranks, **sizes}),
        process_groups.megatron: megatron,
        job.platform: "npu" if megatron else "cuda",
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


def test_states_spread_over_the_ranks_that_hold_the_same_parameters() -> None:
    # 64 ranks, 8 x 4 of which divide the model: 76 - 60 x 12/16 x 1/2 = 53.5 GiB, not 76 - 60 x 12/16 x 63/64.
    (draft,) = drafts("MEM009", given(60, 64, data=2, tensor=8, pipeline=4))
    assert {"2", "53.5 GiB"} <= set(figures(draft.summary))
    # Ranks that share a sequence hold the same ones.
    (draft,) = drafts("MEM009", given(60, 64, data=2, context=2, tensor=8, pipeline=2))
    assert {"4", "42.2 GiB"} <= set(figures(draft.summary))


def test_a_model_that_is_divided_among_all_ranks_is_to_be_divided_further() -> None:
    (draft,) = drafts("MEM009", given(60, 32, data=1, tensor=8, pipeline=4))
    # A server has eight: the next step is more stages.
    assert draft.actions[0].after == "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 8"
    (draft,) = drafts("MEM009", given(60, 8, data=1, tensor=4, pipeline=2))
    assert draft.actions[0].before == "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2"
    assert draft.actions[0].after.startswith("--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2")
    assert "ZeRO" not in draft.summary


def test_an_unknown_layout_promises_nothing_by_its_wording() -> None:
    (draft,) = drafts("MEM009", given(60, 64, data=None))
    assert "is not recorded" in draft.summary
    assert "GiB" not in draft.summary.split(";")[1]


def test_megatron_and_mindspeed_have_options_of_their_own() -> None:
    (draft,) = drafts("MEM009", given(60, megatron=True))
    assert "--use-distributed-optimizer" in draft.actions[0].after
    (draft,) = drafts("MEM009", given(20, megatron=True))
    assert [one.after.split()[0] for one in draft.actions] == [
        "--recompute-granularity",
        "--recompute-activation-function",
    ]


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
