from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import synchronisation as sync
from stepscope.signals.shared import job
from support import Facts

CALLS = sync.Blocking(
    np.array([1, 2, 3]),
    np.array([100, 900, 2000]),
    np.array([600, 400, 700]),
    np.array([sync.KINDS.index(kind) for kind in ("stream", "device", "event")], np.int8),
    np.zeros(3, np.bool_),
)


def given(rate: float) -> dict[object, object]:
    place = sync.WaitPlace("cudaEventSynchronize", None, "pipeline", None, 1, 700)
    return {
        sync.stream_waits: rate,
        sync.calls: CALLS,
        sync.needless: CALLS.where(CALLS.events != 3),
        sync.places: (place,),
        job.recorded_steps: 1,
        job.platform: "xpu",
    }


def test_waits_for_streams_and_events_are_found_the_longest_first() -> None:
    (draft,) = drafts("SYN004", given(2.0))
    assert {"2"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.unblocked.tolist() == [1, 3]
    assert draft.change.host[0].events.tolist() == [1]
    # What others may be symptoms of is the lead that the host loses by waiting.
    assert draft.explaining is not None
    assert (draft.explaining.unblocked.tolist(), draft.explaining.host) == ([1, 3], ())
    assert draft.events.tolist() == [3, 1]
    assert "torch.xpu.current_stream().wait_stream(side)" in draft.actions[0].after


def test_one_in_three_steps_just_misses() -> None:
    assert drafts("SYN004", given(0.49)) == []
    assert len(drafts("SYN004", given(0.5))) == 1


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYN004", {})


def _in_idle_time(took: int, call: str) -> int | None:
    """The price of a call between two kernels that takes so long although the device is idle."""
    facts = Facts()
    for number in range(3):
        at = number * 4_000_000
        facts.step(number, at, 4_000_000)
        facts.kernel("gemm", at + 100_000, 500_000, launch=(at + 50_000, 10_000))
        facts.host("sync", call, at + 700_000, took)
        facts.kernel("add", at + 800_000 + took, 3_150_000 - took, launch=(at + 750_000 + took, 10_000))
    (finding,) = findings("SYN004", facts.trace())
    return finding.cost_ns


@pytest.mark.parametrize("call", ["cudaStreamSynchronize", "hipEventSynchronize"])
def test_a_call_that_is_removed_takes_no_time_of_its_own(call: str) -> None:
    cost = _in_idle_time(900_000, call)
    assert cost is not None
    assert 850_000 <= cost <= 1_000_000


def test_a_long_wait_of_an_idle_device_is_for_work_that_nobody_recorded() -> None:
    cost = _in_idle_time(1_000_000, "cudaStreamSynchronize")
    assert cost is not None
    assert cost < 200_000
