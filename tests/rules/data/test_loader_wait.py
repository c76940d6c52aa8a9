from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Finding
from stepscope.signals.data import data, loader_activity
from stepscope.signals.shared.idleness import data_wait_idle_ns
from stepscope.signals.shared.job import step_ns
from stepscope.signals.system.machine import ProcessorUse, processors
from support import Facts

WAITS = data.LoaderWaits(
    np.array([3, 9]), np.array([0, 1000]), np.array([500, 400]), ("enumerate(DataLoader)#_X.__next__",) * 2
)


def given(share: float, in_process: bool | None = True) -> dict[object, object]:
    return {data.wait_share: share, data.wait_ns: 500, data.regular: WAITS, data.in_process: in_process}


def test_a_wait_of_half_the_step_is_found_with_what_to_do() -> None:
    (draft,) = drafts("DAT001", given(0.5))
    assert figures(draft.summary) == ["50.0 %", "500 ns"]
    assert "num_workers" in draft.actions[0].after
    assert draft.events.tolist() == [3, 9]


def test_wording_of_workers_that_do_not_keep_up() -> None:
    (draft,) = drafts("DAT001", given(0.5, False))
    assert "workers don't keep up" in draft.summary


@pytest.mark.parametrize(("share", "receives"), [(0.499, False), (0.5, True)])
def test_batches_that_are_received_are_not_late(share: float, receives: bool) -> None:
    inside = loader_activity.Inside(np.array([4]), 400, ("torch/multiprocessing/reductions.py(9): rebuild_storage_fd",))
    (draft,) = drafts(
        "DAT001", {**given(0.5, False), loader_activity.receiving: inside, loader_activity.receiving_share: share}
    )
    assert ("rebuild_storage_fd" in draft.summary) is receives
    assert ("pin_memory=True" in draft.actions[0].after) is receives


def test_just_below_the_threshold_nothing_is_found() -> None:
    assert drafts("DAT001", given(0.00999)) == []
    assert len(drafts("DAT001", given(0.0100))) == 1


def test_a_single_wait_tells_nothing_of_the_others() -> None:
    one = data.LoaderWaits(np.array([3]), np.array([0]), np.array([500]), ("enumerate(DataLoader)#_X.__next__",))
    assert drafts("DAT001", {**given(0.5), data.regular: one}) == []


def test_the_threshold_can_be_set() -> None:
    assert drafts("DAT001", given(0.2), {"min_share": 0.3}) == []


def test_without_a_loader_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT001", {})


def waiting(*, linked: bool) -> Finding:
    """Five steps of 10 ms: a wait of 6 ms, in the first one of which the device still computes, then 4 ms without."""
    facts = Facts()
    for step in range(5):
        at = 10_000_000 * step
        facts.step(step, at, 10_000_000)
        facts.host("dataloader", WAITS.names[0], at, 6_000_000)
        call = at + 6_000_000
        facts.host("op", "aten::mm", call, 100_000)
        launch = (call + 10_000, 5_000)
        if not linked:
            facts.host("launch", "cudaLaunchKernel", *launch, correlation=facts.correlation())
        facts.kernel("gemm", call + 20_000, 4_980_000, launch=launch if linked else None)
    (found,) = findings("DAT001", facts.trace())
    return found


def test_without_links_to_launches_the_idle_time_in_the_waits_is_the_price() -> None:
    measured, told = waiting(linked=False), waiting(linked=True)
    assert measured.cost_ns == (6_000_000 + 4 * 5_000_000) // 5  # nothing is computed in the first wait
    assert told.cost_ns == pytest.approx(measured.cost_ns, rel=0.02)


@pytest.mark.parametrize(
    ("job", "most", "first"),
    [(0.1, 500, "worker processes"), (1.2, 400, "worker processes"), (2.0, 500, "batch cheaper")],
)
def test_workers_give_no_more_than_the_processors_there_are(job: float, most: int, first: str) -> None:
    use = ProcessorUse(2.0, job, 0.0)
    (draft,) = drafts("DAT001", {**given(0.5), processors: use, step_ns: 1000})
    assert draft.most_ns == most
    assert first in draft.actions[0].text
    (late,) = drafts("DAT001", {**given(0.5, False), processors: use, step_ns: 1000})
    assert late.most_ns == 500


def test_the_price_by_idle_time_is_left_out_where_that_is_not_known() -> None:
    (draft,) = drafts("DAT001", {**given(0.5), data_wait_idle_ns: 300})
    assert draft.unlinked_ns == 300
    (draft,) = drafts("DAT001", given(0.5))
    assert draft.unlinked_ns is None
