from __future__ import annotations

from dataclasses import replace

import pytest

from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared import job
from stepscope.signals.system import machine

CROWDED = machine.ProcessorUse(
    4.0, 3.5, 1.5, others=0.4, main=0.6, main_waiting=0.2, threads=40, workers=8, processes=9
)


def starved(device: float, cores: float, disk: float) -> dict[object, object]:
    use = replace(CROWDED, job=cores)
    return {machine.processors: use, machine.device_busy: device, machine.disk_busy: disk, job.step_ns: 1000}


@pytest.mark.parametrize(
    ("device", "cores", "disk", "actions"),
    [(0.5, 3.2, 0.1, 1), (0.2, 3.2, 0.8, 2), (0.2, 0.1, 0.8, 1)],
)
def test_a_device_that_waits_for_the_host(device: float, cores: float, disk: float, actions: int) -> None:
    (draft,) = drafts("SYS005", starved(device, cores, disk))
    assert len(draft.actions) == actions
    assert (draft.cost_ns, draft.taken_ns) == (None, round(1000 * (1 - device)))


@pytest.mark.parametrize(("device", "cores", "disk"), [(0.51, 4.0, 1.0), (0.2, 3.19, 0.79)])
def test_a_busy_device_or_an_idle_host_is_not_it(device: float, cores: float, disk: float) -> None:
    assert drafts("SYS005", starved(device, cores, disk)) == []


def test_without_samples_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYS005", {job.step_ns: 1000})
