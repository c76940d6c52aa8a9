from __future__ import annotations

from dataclasses import replace

import pytest

from rule_support import drafts, figures
from stepscope.model.devices import Device
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared import job
from stepscope.signals.system import machine

IDLE = machine.ProcessorUse(8.0, 0.2, 0.0, others=0.2, main=0.1, main_waiting=0.1)
GPU = object.__new__(Device)


def idle(use: machine.ProcessorUse = IDLE, disk: float = 0.1, device: float | None = None) -> dict[object, object]:
    found = {machine.processors: use, machine.disk_busy: disk, machine.network_rate: 2e6, job.step_ns: 1000,
             job.device: None if device is None else GPU}  # fmt: skip
    return found if device is None else {**found, machine.device_busy: device}


def test_a_machine_in_which_nothing_is_busy() -> None:
    (draft,) = drafts("SYS006", idle())
    assert figures(draft.summary) == ["0.20", "10.0 %", "2.00 MB/s", "80.0 %"]
    assert (draft.cost_ns, draft.taken_ns, draft.waiting) == (None, 800, True)
    (draft,) = drafts("SYS006", idle(device=0.25))
    assert "25.0 %" in figures(draft.summary)


@pytest.mark.parametrize(
    ("changed", "disk", "device", "found"),
    [
        ({"main": 0.4}, 0.3, None, True),
        ({"main": 0.41}, 0.1, None, False),
        ({"job": 0.51}, 0.1, None, False),
        ({}, 0.31, None, False),
        ({}, 0.1, 0.31, False),
        ({"main": None}, 0.1, None, False),
    ],
)
def test_thresholds_of_idleness(
    changed: dict[str, float | None], disk: float, device: float | None, found: bool
) -> None:
    assert bool(drafts("SYS006", idle(replace(IDLE, **changed), disk, device))) is found


def test_without_samples_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYS006", {job.step_ns: 1000})
