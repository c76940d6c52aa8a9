"""What an export of a rank takes: a step at a time, with its two sides arranged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from stepscope.simulate.writers.ascend.cann_events import Api
from stepscope.simulate.writers.ascend.device import DeviceStep
from stepscope.simulate.writers.ascend.host import AscendHostStep
from stepscope.simulate.writers.ascend.overlap import StepWindow
from stepscope.simulate.writers.ascend.steps import StepRecords


@dataclass(frozen=True, slots=True)
class ArrangedStep:
    """A step: its records, the framework's side, the device's, calls of CANN, and when it was."""

    records: StepRecords
    host: AscendHostStep
    device: DeviceStep
    calls: list[Api]
    window: StepWindow


class Export(Protocol):
    """Files of one rank, in the folder that it was made for."""

    def step(self, step: ArrangedStep) -> None:
        """Take a step."""

    def finish(self, start: int, end: int) -> None:
        """Finish all files of a recording from ``start`` to ``end``."""

    def abandon(self) -> None:
        """Release the files as they are."""
