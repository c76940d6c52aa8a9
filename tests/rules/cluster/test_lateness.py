from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cluster_support import rank
from stepscope.model.errors import MissingInputError
from stepscope.rules.cluster.lateness import READS, Late, late_ranks
from stepscope.signals import Signals
from stepscope.signals.communication import cluster, pipeline
from stepscope.signals.shared import job


def late(*ranks: dict[Any, Any]) -> Late | None:
    sealed = {number: Signals(number, given).sealed(READS) for number, given in enumerate(ranks)}
    return late_ranks(sealed, {"min_wait": 0.01, "min_ratio": 1.05})


def test_the_rank_that_waits_least_is_the_late_one() -> None:
    found = late(rank(400_000), rank(10_000), rank(420_000))
    assert found is not None
    assert (found.ranks, found.others, found.wait_ns) == ((1,), (0, 2), 410_000)
    assert found.gain_ns == 400_000


def test_several_ranks_may_be_late_but_not_most() -> None:
    found = late(rank(), rank(0), rank(), rank(0))
    assert found is not None
    assert found.names == "ranks 1, 3"
    assert late(rank(), rank(0), rank(0)) is None


@pytest.mark.parametrize("waits", [(400_000, 300_000, 200_000), (9_000, 0, 9_000), (0, 0, 0.0)])
def test_even_or_short_waits_have_no_culprit(waits: tuple[int, ...]) -> None:
    if not any(waits):
        with pytest.raises(MissingInputError):
            late(*(rank(int(wait)) for wait in waits))
    else:
        assert late(*(rank(wait) for wait in waits)) is None


@pytest.mark.parametrize(("wait", "is_late"), [(120_000, True), (120_001, False)])
def test_who_waits_up_to_three_tenths_of_what_is_usual_is_late(wait: int, is_late: bool) -> None:
    assert (late(rank(400_000), rank(wait), rank(400_000)) is not None) is is_late


def test_the_late_rank_is_compared_with_the_others() -> None:
    slow = rank(0, device=1.5, operator=3_000, dispatch=0.2, fetched=50_000)
    found = late(rank(), slow, rank(fetched=10_000))
    assert found is not None
    assert found.device == pytest.approx(1.5)
    assert found.host == pytest.approx(3.0)
    assert found.work == pytest.approx(1.0)
    assert (found.dispatch, found.loading_ns) == (0.2, 45_000)


def test_kernels_that_run_more_often_on_one_rank_do_not_compare() -> None:
    other = {**rank(0), cluster.kernels: {"gemm": cluster.Kernel(12, 900_000, 1)}}
    found = late(rank(), other)
    assert found is not None
    assert found.device == 1.0


def test_what_is_not_known_does_not_differ() -> None:
    found = late({cluster.waited_ns: 400_000, cluster.waited_share: 0.4}, {cluster.waited_ns: 0})
    assert found is not None
    assert (found.device, found.work, found.host, found.loading_ns) == (1.0, 1.0, 1.0, 0)
    assert found.gain_ns == 400_000


def test_one_rank_or_unknown_waits_tell_nothing() -> None:
    with pytest.raises(MissingInputError, match="one rank"):
        late(rank())
    with pytest.raises(MissingInputError, match="all ranks"):
        late({}, {})


def staged(rank_number: int, wait: int, own: int = 500_000, **given: Any) -> dict[Any, Any]:
    """A rank of three pipelines of two stages, (0, 3), (1, 4) and (2, 5); its step takes 1 ms."""
    pipe = rank_number % 3, rank_number % 3 + 3
    place = pipeline.StageTimes("pp", pipe, rank_number // 3, 8.0, 4.0, 0, 500_000, True, np.empty(0, np.int64))
    return {**rank(wait, **given), pipeline.stage: place, pipeline.own_ns: own, job.step_ns: 1_000_000}


def test_a_rank_that_another_stage_holds_up_is_not_the_late_one() -> None:
    """Rank 4 comes last in its stage since it waits for rank 1, whose own stage hardly waits in collectives."""
    waits = [staged(0, 20_000), staged(1, 0, 900_000, device=1.8), staged(2, 20_000)]
    found = late(*waits, staged(3, 400_000, 600_000), staged(4, 0, 600_000), staged(5, 380_000, 600_000))
    assert found is not None
    assert (found.ranks, found.others, found.gain_ns) == ((1,), (3, 5), 380_000)
    assert found.device == pytest.approx(1.8)


@pytest.mark.parametrize(("own", "is_late"), [(510_000, True), (509_999, False)])
def test_a_pipeline_of_which_no_rank_takes_longer_has_no_late_one(own: int, is_late: bool) -> None:
    """What a slow link between its stages takes is communication on both."""
    ranks = [
        staged(0, 20_000),
        staged(1, 0, own),
        staged(2, 20_000),
        *(staged(n, 400_000 * (n != 4)) for n in (3, 4, 5)),
    ]
    assert (late(*ranks) is not None) is is_late


def test_with_one_rank_outside_of_pipelines_all_are_compared() -> None:
    ranks = [staged(0, 400_000), staged(1, 0, 500_000), staged(2, 400_000), rank()]
    found = late(*ranks)
    assert found is not None
    assert (found.ranks, found.others) == ((1,), (0, 2, 3))
