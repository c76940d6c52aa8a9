from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rule_support import figures, job_drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import cluster, pipeline
from stepscope.signals.communication.rank_times import RankTimes, rank_times
from stepscope.signals.memory import memory
from stepscope.signals.shared import job

STEP = 100_000_000


def on(position: int | None, bubble: int, *, compute: int = 30_000_000, arrivals: float | None = 2.0) -> dict[Any, Any]:
    """A rank of a pipeline of two stages."""
    events = np.zeros(0, np.int64)
    one = pipeline.StageTimes("g", (0, 2), position, 4.0, arrivals, bubble, compute, True, events)
    return {pipeline.stage: one, job.step_ns: STEP}


def test_the_bubble_of_the_recorded_stage() -> None:
    (draft,) = job_drafts("CLU006", {0: on(0, 38_000_000), 1: on(0, 40_000_000)})
    assert figures(draft.summary) == ["0", "1", "2", "2", "2", "38.0 %", "40.0 %", "40.0 ms", "66.7 %"]
    assert draft.cost_ns == 29_250_000
    assert draft.ranks == (1, 0)
    assert "more micro-batches" in draft.actions[0].text


def test_uneven_stages_want_layers_moved_first() -> None:
    ranks = {0: on(0, 38_000_000), 2: on(1, 2_000_000, compute=52_000_000)}
    (draft,) = job_drafts("CLU006", ranks)
    assert {"1", "1.73"} <= set(figures(draft.summary))
    assert draft.actions[0].text.startswith("Move layers")
    assert draft.cost_ns == 20_000_000  # no more than the mean bubble, though even stages would be 21.2 ms shorter


@pytest.mark.parametrize(("compute", "cost"), [(32_900_000, 28_500_000), (45_000_000, 28_500_000)])
def test_stages_that_are_nearly_even_save_what_more_micro_batches_do(compute: int, cost: int) -> None:
    (draft,) = job_drafts("CLU006", {0: on(0, 38_000_000), 2: on(1, 38_000_000, compute=compute)})
    assert draft.cost_ns == cost


def test_a_model_that_fits_into_one_device_needs_no_pipeline() -> None:
    fits = {0: {**on(0, 38_000_000), memory.room: (12 << 30, 32 << 30)}, 1: on(0, 40_000_000)}
    (draft,) = job_drafts("CLU006", fits)
    assert {"12.0 GiB", "32.0 GiB"} <= set(figures(draft.summary))
    assert draft.actions[0].before == "--pipeline-model-parallel-size 2"
    (draft,) = job_drafts("CLU006", {0: {**on(0, 38_000_000), memory.room: (13 << 30, 32 << 30)}})
    assert "more micro-batches" in draft.actions[0].text
    assert "GiB" not in draft.summary


def test_interleaved_parts_are_told_and_not_advised() -> None:
    ((_, one), step) = on(0, 38_000_000).items()
    one = replace(one, ranks=(0, 1, 2, 3), arrivals=8.0, parts=2)
    (draft,) = job_drafts("CLU006", {0: {pipeline.stage: one, step[0]: step[1]}})
    assert {"8", "4", "2", "84.2 %"} <= {*figures(draft.summary)}
    assert [action for action in draft.actions if "several chunks" in action.text] == []


def test_a_small_bubble_is_as_it_must_be() -> None:
    assert job_drafts("CLU006", {0: on(0, 4_999_999)}) == []
    assert len(job_drafts("CLU006", {0: on(0, 5_000_000)})) == 1


def test_wording_is_silent_on_micro_batches_of_a_middle_stage() -> None:
    (draft,) = job_drafts("CLU006", {0: on(None, 38_000_000)})
    assert "micro-batches" not in draft.summary


@pytest.mark.parametrize(
    ("stages", "others"), [(None, "another stage"), (2, "the other stage"), (4, "the others of 4 stages")]
)
def test_wording_of_whom_it_waits_for(stages: int | None, others: str) -> None:
    one = on(0, 38_000_000)
    one[pipeline.stage] = replace(one[pipeline.stage], ranks=tuple(range(stages or 0)))
    (draft,) = job_drafts("CLU006", {0: one})
    assert others in draft.summary


def test_without_a_pipeline_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError, match="pipeline"):
        job_drafts("CLU006", {0: {job.step_ns: STEP}})


@pytest.mark.parametrize(("gain", "cost"), [(0, 15_000_000), (20_000_000, 7_500_000)])
def test_what_ranks_wait_because_one_is_late_is_no_bubble(gain: int, cost: int) -> None:
    """Rank 3 is late: rank 2, of its stage, waits for it in collectives, the stage before in sends and receives."""
    found = {}
    for rank in range(4):
        waited = gain if rank == 2 else 0
        place = pipeline.StageTimes(
            "g", (rank % 2, rank % 2 + 2), rank // 2, 4.0, 2.0, 0, 1, True, np.zeros(0, np.int64)
        )
        place = replace(place, bubble_ns=10_000_000 + (20_000_000 if rank < 2 else 0))
        times = RankTimes(
            1, STEP, 50_000_000, 0, 0, 50_000_000, waited + place.bubble_ns, waited, ((0, waited + place.bubble_ns),),
            place.ranks, place.position,
        )  # fmt: skip
        waits = {cluster.waited_ns: waited, cluster.gain_ns: gain, rank_times: times}
        found[rank] = {pipeline.stage: place, **waits, job.step_ns: STEP}
    (draft,) = job_drafts("CLU006", found)
    assert draft.cost_ns == cost
