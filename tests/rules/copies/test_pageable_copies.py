from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.copies.copy_kinds import pageable, pageable_exposed_ns
from stepscope.signals.copies.transfers import CopyTransfers, pinned_rate, transfers
from stepscope.signals.shared import job
from transfer_support import copies

COPY = {"src": "pageable", "dur": 400_000, "returned": 390_000, "called": 0, "ts": 0, "wait": 77, "waited": 10_000}
NOTHING = copies({}).where([False])


def given(found: CopyTransfers, step_ns: int = 1_000_000, **more: object) -> dict[object, object]:
    return {
        pageable: found,
        transfers: found,
        pinned_rate: 10e9,
        job.recorded_ns: step_ns,
        job.recorded_steps: 1,
        job.platform: more.get("platform", "cuda"),
    }


def test_copies_and_the_host_s_waiting_are_told_with_what_pinning_changes() -> None:
    (draft,) = drafts("CPY001", given(copies(COPY)))
    assert figures(draft.summary) == ["1", "1.00 MiB", "10.0 GB/s", "2.62 GB/s", "400 µs"]
    assert draft.change is not None
    # 2 µs and 1 MiB at 10 GB/s, of 400 µs.
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([10], 0.27)]
    assert draft.change.unblocked.tolist() == [50, 77]


@pytest.mark.parametrize(("alone", "said"), [(500_000, True), (499_999, False)])
def test_where_copies_take_most_of_the_step_their_cost_in_all_is_a_figure(alone: int, said: bool) -> None:
    (draft,) = drafts("CPY001", {**given(copies(COPY)), pageable_exposed_ns: alone})
    assert ("500 µs" in figures(draft.summary)) == said


def test_the_code_is_that_of_the_platform_and_of_the_direction() -> None:
    (draft,) = drafts("CPY001", given(copies({**COPY, "src": "device", "dst": "pageable", "direction": "DtoH"})))
    assert "copy_(result, non_blocking=True)" in draft.actions[1].after
    (draft,) = drafts("CPY001", given(copies(COPY), platform="npu"))
    assert 'x.to("npu", non_blocking=True)' in draft.actions[0].after
    assert not any("result" in action.after for action in draft.actions)


def test_of_results_only_the_copies_get_shorter() -> None:
    (draft,) = drafts("CPY001", given(copies({**COPY, "src": "device", "dst": "pageable", "direction": "DtoH"})))
    assert draft.most_ns == pytest.approx(400_000 - 106_858, abs=1)
    (draft,) = drafts("CPY001", given(copies(COPY)))
    assert draft.most_ns == 800_000  # of inputs the wait goes away as well


def test_less_than_a_hundredth_of_the_step_just_misses() -> None:
    assert drafts("CPY001", given(copies(COPY), 80_001_000)) == []
    assert len(drafts("CPY001", given(copies(COPY), 80_000_000))) == 1


def test_what_is_copied_once_in_many_steps_is_none() -> None:
    assert drafts("CPY001", {**given(copies(COPY)), job.recorded_steps: 3}) == []
    assert len(drafts("CPY001", {**given(copies(COPY)), job.recorded_steps: 2})) == 1


def test_where_the_kind_of_memory_is_not_recorded_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError, match="page-locked"):
        drafts("CPY001", {**given(NOTHING), transfers: copies({"src": ""})})
    assert drafts("CPY001", {**given(NOTHING), transfers: copies({})}) == []


def test_without_calls_the_device_s_own_time_counts_and_no_wait_is_claimed() -> None:
    alone = copies({**COPY, "launch": -1, "called": -1, "returned": -1, "wait": -1, "waited": 0})
    (draft,) = drafts("CPY001", {**given(alone), pageable_exposed_ns: 200_000})
    assert figures(draft.summary) == ["1", "1.00 MiB", "10.0 GB/s", "2.62 GB/s"]
    # Half of the copy is exposed, and it gets 1 - 106,858 / 400,000 shorter.
    assert draft.unlinked_ns == 146_571
    (draft,) = drafts("CPY001", given(alone))
    assert draft.unlinked_ns is None
