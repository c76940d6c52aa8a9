"""Let operators go to the NPU through a second thread."""

from __future__ import annotations

from typing import Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

_NAME: Final = "TASK_QUEUE_ENABLE"
_VALUE: Final = "2"


def _fits(seen: Seen) -> str:
    if seen.device != "npu":
        return said("the program uses no NPU")
    return said("{name} is {value}", name=_NAME, value=_VALUE) if seen.environment.get(_NAME) == _VALUE else ""


REMEDY = OutsideRemedy(
    name="task-queue",
    title="Dispatch through a queue of two levels",
    rules=("ASC004", "HST001", "HST003"),
    numbers="exact",
    changes="nothing",
    fits=_fits,
    variables=lambda _: {_NAME: _VALUE},
)
