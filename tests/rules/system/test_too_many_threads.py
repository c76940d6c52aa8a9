from __future__ import annotations

from dataclasses import replace

import pytest

from rule_support import drafts, figures
from stepscope.model.devices import Device
from stepscope.model.errors import MissingInputError
from stepscope.signals.data import data
from stepscope.signals.shared import job
from stepscope.signals.system import machine

CROWDED = machine.ProcessorUse(
    4.0, 3.5, 1.5, others=0.4, main=0.6, main_waiting=0.2, threads=40, workers=8, processes=9
)
GPU = object.__new__(Device)


def crowded(use: machine.ProcessorUse = CROWDED, device: Device | None = None) -> dict[object, object]:
    return {machine.processors: use, job.step_ns: 1000, job.device: device, data.wait_ns: 100}


def test_more_threads_than_cores_are_found_without_a_price_since_their_work_remains() -> None:
    (draft,) = drafts("SYS007", crowded())
    assert figures(draft.summary) == ["1.5", "20.0 %", "3.5", "4", "40", "8", "9"]
    # A fifth of the step, and of the wait for batches what of the threads' time is waiting for a turn.
    assert (draft.cost_ns, draft.taken_ns) == (None, 230)
    assert "OMP_NUM_THREADS" in draft.actions[0].after


def test_with_a_device_there_is_no_price() -> None:
    (draft,) = drafts("SYS007", crowded(replace(CROWDED, others=4.0), device=GPU))
    assert (draft.cost_ns, draft.taken_ns) == (None, 230)


def test_other_processes_that_take_more_are_named_and_priced() -> None:
    (draft,) = drafts("SYS007", crowded(replace(CROWDED, job=1.0, waiting=4.0, others=2.9, workers=0)))
    assert figures(draft.summary) == ["1.0", "2.9", "20.0 %", "4", "4.0"]
    assert "taskset" in draft.actions[0].after
    assert draft.cost_ns == 200


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"main_waiting": 0.05}, True),
        ({"main_waiting": 0.049}, False),
        ({"main_waiting": None}, False),
        ({"waiting": 1.1}, True),
        ({"waiting": 1.0}, False),
    ],
)
def test_thresholds_of_crowded_cores(changed: dict[str, float | None], found: bool) -> None:
    assert bool(drafts("SYS007", crowded(replace(CROWDED, **changed)))) is found


def test_without_samples_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYS007", {job.step_ns: 1000})
