from __future__ import annotations

import pytest

from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.copies.copying import round_trips
from stepscope.signals.shared import job
from transfer_support import copies

PAIR = ({"direction": "DtoH", "src": "device", "dst": "pageable", "wait": 88, "waited": 300}, {})


def given(pairs: int, steps: int) -> dict[object, object]:
    rows = [{**row, "step": number} for number in range(pairs) for row in PAIR]
    return {round_trips: copies(*rows), job.recorded_steps: steps}


def test_copies_there_and_back_go_away() -> None:
    (draft,) = drafts("CPY005", given(1, 1))
    assert draft.summary == (
        "Once per step, data are copied to the host and as many bytes back, 1.00 MiB each way; the copies take "
        "200 ns, and the host waits 320 ns."
    )
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([10, 11], 0.0)]
    assert draft.change.unblocked.tolist() == [50, 51, 88]


def test_less_than_every_other_step_just_misses() -> None:
    assert drafts("CPY005", given(2, 5)) == []
    assert len(drafts("CPY005", given(2, 4))) == 1


def test_without_copies_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("CPY005", {})
