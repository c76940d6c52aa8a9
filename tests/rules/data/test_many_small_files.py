from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.data import data
from stepscope.signals.shared import job
from stepscope.signals.system import machine_storage

WAITS = data.LoaderWaits(np.array([3, 9]), np.array([0, 1000]), np.array([500, 400]), ("next",) * 2)
READS = machine_storage.FileReads(512.0, 4096.0, 0.25, ("network", "solid state"))


def given(**changed: object) -> dict[object, object]:
    known = {"reads": READS, "share": 0.5, "read_ns": 300, "blocked_ns": 200, **changed}
    found = {data.wait_share: known["share"], data.wait_ns: 500, data.regular: WAITS, job.step_ns: 1000,
             machine_storage.file_reads: known["reads"]}  # fmt: skip
    priced = {machine_storage.loader_file_ns: "read_ns", machine_storage.loading_blocked_ns: "blocked_ns"}
    return {**found, **{one: known[name] for one, name in priced.items() if known[name] is not None}}


def test_many_small_reads_behind_a_wait_are_found_with_a_price() -> None:
    (draft,) = drafts("DAT007", given())
    assert figures(draft.summary) == ["4.00 KiB", "50.0 %", "500 ns", "512"]
    assert "network" in draft.summary
    assert draft.most_ns == 300
    assert draft.change is not None
    assert draft.change.host[0].events.tolist() == [3, 9]


def test_the_price_is_the_time_that_who_loads_is_blocked_or_none() -> None:
    (draft,) = drafts("DAT007", given(read_ns=None))
    assert draft.most_ns == 200
    (draft,) = drafts("DAT007", given(read_ns=None, blocked_ns=None))
    assert (draft.change, draft.most_ns, draft.taken_ns) == (None, None, 500)


@pytest.mark.parametrize(
    ("reads", "share", "found"),
    [
        (machine_storage.FileReads(64.0, 4096.0, 0.0, ()), 0.01, True),
        (machine_storage.FileReads(63.0, 4096.0, 0.0, ()), 0.5, False),
        (machine_storage.FileReads(64.0, 1023.0, 0.0, ()), 0.5, False),
        (machine_storage.FileReads(64.0, 65536.0, 0.5, ()), 0.5, True),
        (machine_storage.FileReads(64.0, 65537.0, 0.0, ()), 0.5, False),
        (machine_storage.FileReads(64.0, 4096.0, 0.51, ()), 0.5, False),
        (READS, 0.0099, False),
    ],
)
def test_thresholds(reads: machine_storage.FileReads, share: float, found: bool) -> None:
    assert bool(drafts("DAT007", given(reads=reads, share=share))) is found


def test_without_samples_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT007", {data.wait_share: 0.5})
