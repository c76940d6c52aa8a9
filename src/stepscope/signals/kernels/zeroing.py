"""Gradients that the optimizer's zero_grad fills with zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, named, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.signals.shared.ranges import inside
from stepscope.signals.signal import Signals, signal

_RANGE: Final = "Optimizer.zero_grad"
_ZEROES: Final = ("aten::zero_", "aten::_foreach_zero_")


@dataclass(frozen=True, slots=True)
class Zeroed:
    """Operators and kernels of zero_grad.

    Attributes:
        operators: int64[n], operators that zero gradients.
        kernels: int64[k], device activities that they launch.
        steps: Steps with a zero_grad.
        name: Of the range.
        annotated: Whether the range is an annotation; some profilers record it as an operator.
    """

    operators: NDArray[np.int64]
    kernels: NDArray[np.int64]
    steps: int
    name: str
    annotated: bool = True


@signal()
def zeroed(s: Signals) -> Zeroed:
    """Operators inside the optimizer's zero_grad that zero gradients, and what they launch."""
    spans = Spans(s.trace)
    mine = np.flatnonzero(named(s.trace, lambda name: name.startswith(_RANGE)) & (spans.step >= 0))
    if not mine.size:
        raise MissingInputError(
            "the recording has no optimizer's zero_grad", hint="record whole training steps with PyTorch's profiler"
        )
    mine = mine[np.lexsort((spans.ts[mine], spans.track[mine]))]
    ranges = _places(spans, mine)
    at = np.flatnonzero(named(s.trace, _ZEROES.__contains__) & spans.of("op"))
    at = at[np.lexsort((spans.ts[at], spans.track[at]))]
    at = at[inside(_places(spans, at), ranges)]
    events, name = spans.id[at].astype(np.int64), s.trace.once(names_by_id)[int(spans.name[mine[0]])]
    work = DeviceWork.of(s.trace)
    launched: dict[str, NDArray[Any]] = {"track": work.thread, "ts": work.called}
    kernels = work.event[inside(launched, _places(spans, at)) & work.launched] if at.size else events
    return Zeroed(events, np.sort(kernels), mine.size, name, bool(spans.of("annotation")[mine[0]]))


def _places(spans: Spans, at: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    ts = spans.ts[at]
    return {"track": spans.track[at], "ts": ts, "stop": ts + np.maximum(spans.dur[at], 0)}
