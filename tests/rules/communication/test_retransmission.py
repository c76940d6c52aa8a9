from __future__ import annotations

import pytest

from comm_support import some_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication import communication, sampled_links
from stepscope.signals.communication.communication import CollectiveCalls
from stepscope.signals.communication.sampled_links import SampledLink
from stepscope.signals.shared import job

SECOND = 10**9


def given(calls: CollectiveCalls, platform: str = "npu") -> dict[object, object]:
    return {communication.calls: calls, job.platform: platform}


def stalled(ns: int, *, told: bool = True) -> CollectiveCalls:
    times = [SECOND // 100] * 4 + [ns]
    return some_calls(5, dur=times, transfer=times, exposed=times, told=told)


def test_a_transfer_of_seconds_among_milliseconds_is_found() -> None:
    (draft,) = drafts("COM006", given(stalled(5 * SECOND)))
    assert {"1", "5.00 s"} <= set(figures(draft.summary))
    assert "HCCL_RDMA_TC" in draft.actions[0].after
    assert draft.change is not None
    assert draft.change.device[0].events.tolist() == [4]
    assert "NCCL_IB_TC" in drafts("COM006", given(stalled(5 * SECOND), "cuda"))[0].actions[0].after


def test_less_than_the_timeout_is_no_retransmission() -> None:
    assert drafts("COM006", given(stalled(4 * SECOND - 1))) == []
    assert len(drafts("COM006", given(stalled(4 * SECOND)))) == 1


def test_collectives_that_always_take_seconds_are_none() -> None:
    times = [5 * SECOND] * 4
    assert drafts("COM006", given(some_calls(4, dur=times, transfer=times))) == []


@pytest.mark.parametrize(("lost", "found"), [(0.001, True), (0.00099, False), (None, False)])
def test_adapters_that_drop_packets_are_told(lost: float | None, found: bool) -> None:
    links = (SampledLink("RoCE", "1", "transmit", None, None, lost),)
    told = drafts("COM006", {**given(some_calls(4)), sampled_links.sampled_links: links})
    assert [draft.key for draft in told] == ["lost"] * found
    if found:
        assert "0.1 %" in figures(told[0].summary)
        assert "HCCL_RDMA_TC" in told[0].actions[0].after
        # Without any collective the losses are said all the same.
        assert len(drafts("COM006", {sampled_links.sampled_links: links, job.platform: "npu"})) == 1


def test_where_waiting_is_not_told_apart_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM006", given(stalled(5 * SECOND, told=False)))


def test_a_stall_in_a_step_that_is_no_typical_one_has_no_price_but_its_part_of_the_recording() -> None:
    calls = some_calls(2, dur=SECOND // 100, transfer=SECOND // 100, exposed=SECOND // 100, steps=2)
    times = [SECOND // 100, 5 * SECOND, SECOND // 100]
    every = some_calls(3, dur=times, transfer=times, exposed=times, steps=3)
    told = {**given(calls), communication.all_calls: every, job.step_ns: SECOND // 10, job.span_ns: 10 * SECOND}
    (draft,) = drafts("COM006", told)
    assert {"1", "5.00 s", "10.0 ms"} <= set(figures(draft.summary))
    assert (draft.change, draft.cost_ns, draft.steps) == (None, None, (1,))
    assert draft.taken_ns == draft.placed_as_ns == (5 * SECOND - SECOND // 100) // 3
    assert draft.recorded_share == pytest.approx(0.499)
    # Where all steps are typical ones, nothing is beside them; nor is anything said of shorter stalls.
    assert drafts("COM006", {**told, communication.all_calls: calls}) == []
    shorter = [SECOND // 100, 4 * SECOND - 1, SECOND // 100]
    assert drafts("COM006", {**told, communication.all_calls: some_calls(3, dur=shorter, transfer=shorter)}) == []
