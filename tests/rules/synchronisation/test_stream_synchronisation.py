from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import synchronisation as sync
from stepscope.signals.shared import job

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
        sync.places: (place,),
        job.recorded_steps: 1,
        job.platform: "xpu",
    }


def test_waits_for_streams_and_events_are_found_the_longest_first() -> None:
    (draft,) = drafts("SYN004", given(2.0))
    assert {"2"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.unblocked.tolist() == [1, 3]
    assert draft.events.tolist() == [3, 1]
    assert "torch.xpu.current_stream().wait_stream(side)" in draft.actions[0].after


def test_one_in_three_steps_just_misses() -> None:
    assert drafts("SYN004", given(0.49)) == []
    assert len(drafts("SYN004", given(0.5))) == 1


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYN004", {})
