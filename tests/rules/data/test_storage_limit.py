from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.data import data
from stepscope.signals.system import machine_storage

WAITS = data.LoaderWaits(np.array([3, 9]), np.array([0, 1000]), np.array([500, 400]), ("next",) * 2)
DISK = machine_storage.DiskUse("sda", "/data", "rotational", 0.95, 120e6, 0.8, 12.0, 8_000_000.0)


def given(disk: machine_storage.DiskUse = DISK, share: float = 0.5, blocked: int | None = 300) -> dict[object, object]:
    found = {data.wait_share: share, data.wait_ns: 500, data.regular: WAITS, machine_storage.data_disk: disk}
    return found if blocked is None else {**found, machine_storage.loading_blocked_ns: blocked}


def test_a_busy_disk_behind_a_wait_is_found_with_a_price() -> None:
    (draft,) = drafts("DAT008", given())
    assert figures(draft.summary) == ["120 MB/s", "50.0 %", "500 ns", "8.00 ms", "95.0 %"]
    assert draft.most_ns == 300
    assert len(draft.actions) == 1


def test_a_disk_that_answers_few_requests_at_a_time_is_asked_for_more() -> None:
    (draft,) = drafts("DAT008", given(replace(DISK, kind="solid state", queue=1.5, read_ns=None), blocked=None))
    assert "num_workers" in draft.actions[0].after
    assert (draft.change, draft.taken_ns) == (None, 500)


@pytest.mark.parametrize(
    ("disk", "share", "found"),
    [
        (replace(DISK, busy=0.9, job_share=0.5), 0.01, True),
        (replace(DISK, busy=0.899), 0.5, False),
        (replace(DISK, job_share=0.499), 0.5, False),
        (DISK, 0.0099, False),
    ],
)
def test_thresholds(disk: machine_storage.DiskUse, share: float, found: bool) -> None:
    assert bool(drafts("DAT008", given(disk, share))) is found


def test_without_samples_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT008", {data.wait_share: 0.5})
