"""The optimizer's step: its calls and kernels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.handovers import handed
from stepscope.analyses.stepgraph.whatif.changes import launched_within
from stepscope.analyses.steps.phase_marks import phase_marks
from stepscope.model.categories import CATEGORIES
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.ranges import apart, inside
from stepscope.signals.signal import Signals, signal

#: Operators that optimizers update one tensor with, without underscore at their end.
_UPDATES: Final = frozenset(
    f"aten::{name}"
    for name in ("add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp", "sqrt", "rsqrt", "pow", "neg", "sign",
                 "maximum", "square", "reciprocal")
)  # fmt: skip
#: The wrapper that PyTorch puts around the step, and the Python functions of its optimizers.
_WRAPPER: Final = "Optimizer.step"
_NAMED: Final = re.compile(r"Optimizer\.step#(\w+)\.step$")
_FUNCTION: Final = re.compile(r"torch/optim/[a-z]+\.py\(\d+\): step$")


@dataclass(frozen=True, slots=True)
class Updates:
    """The optimizer's steps, without nested ones and without the passes of closures that they call.

    Attributes:
        events: int64[n], the steps; in place of one that calls a closure, the operators that it calls itself.
        handed: int64[m], tasks of them that another thread does, which takes them from a queue.
        kernels: int64[k], what they launched.
        kernel_ns: int64[k].
        calls: Operators called by them that update one tensor, all together.
        others: Other operators called by them.
        kinds: Distinct operators that update one tensor and are called for a good part of the tensors.
        fused: Whether one of them works on lists of tensors, or does all of the update at once.
        host_ns: Time of the steps on the host.
        name: The optimizer's class; empty if the recording does not tell, or tells several.
        on_device: Whether device work is recorded; else the host may have done the arithmetic itself.
        count: Number of steps; that of `events` if not given.
    """

    events: NDArray[np.int64]
    handed: NDArray[np.int64]
    kernels: NDArray[np.int64]
    kernel_ns: NDArray[np.int64]
    calls: int
    others: int
    kinds: int
    fused: bool
    host_ns: int = 0
    name: str = ""
    on_device: bool = True
    count: int | None = None

    @property
    def number(self) -> int:
        """Number of steps."""
        return self.events.size if self.count is None else self.count


@signal()
def updates(s: Signals) -> Updates:
    """The optimizer's steps, the operators that they call, and the kernels that these launch."""
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    wrappers = [name_id for name_id, name in names.items() if name.startswith(_WRAPPER)]
    steps = _steps(spans, names, wrappers)
    if not steps.size:
        raise MissingInputError(
            "the recording shows no step of an optimizer", hint="use an optimizer of torch.optim, which marks its steps"
        )
    fused = any("fused" in names[name_id].lower() for name_id in np.unique(spans.name[steps]).tolist())
    steps = steps[apart(spans.ts[steps], spans.ts[steps] + spans.dur[steps])]
    called_back = _closures(s)
    ranges = _apart_from(called_back, spans, steps)
    calls = _called(spans, ranges, wrappers)
    events = _events(called_back, spans, steps, calls)
    work, tasks = DeviceWork.of(s.trace), s.trace.once(handed)
    launched = work.rows(s.trace, launched_within(s.trace, events))
    launched = launched[work.are("compute")[launched]]
    called, count = np.unique(spans.name[calls], return_counts=True)
    called_names = [names[name_id] for name_id in called.tolist()]
    put = inside({"track": tasks.giver, "ts": tasks.given}, ranges)
    update = np.array([name.rstrip("_") in _UPDATES for name in called_names], np.bool_)
    counted = count[update]
    return Updates(
        events,
        np.sort(tasks.target[put]),
        work.event[launched],
        work.dur[launched],
        int(counted.sum()),
        int(count[~update].sum()),
        int(np.count_nonzero(2 * counted >= counted.max(initial=0))) if counted.size else 0,
        fused or any("_foreach_" in name or "fused" in name.lower() for name in called_names),
        int((ranges["stop"] - ranges["ts"]).sum()),
        _class({names[name_id] for name_id in np.unique(spans.name[steps]).tolist()}),
        bool(work.event.size),
        steps.size,
    )


def _closures(s: Signals) -> Intervals:
    try:
        return s.trace.once(phase_marks).closures
    except MissingInputError:
        return Intervals.empty()


def _apart_from(called_back: Intervals, spans: Spans, steps: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """What of the steps lies outside closures: `track`, `ts` and `stop` of each part."""
    parts = []
    for track in np.unique(spans.track[steps]).tolist():
        own = steps[spans.track[steps] == track]
        # Steps that touch stay apart.
        for ts, dur in zip(spans.ts[own].tolist(), spans.dur[own].tolist(), strict=True):
            left = Intervals.union_of([ts], [ts + dur]) - called_back
            parts += [(track, *part) for part in zip(left.starts.tolist(), left.ends.tolist(), strict=True)]
    track, ts, stop = np.array(parts, np.int64).reshape(-1, 3).T
    return {"track": track, "ts": ts, "stop": stop}


def _events(
    called_back: Intervals, spans: Spans, steps: NDArray[np.int64], calls: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Ids of the steps; of the operators that they call where they call closures, too."""
    ts, stop = spans.ts[steps], spans.ts[steps] + spans.dur[steps]
    calls_back = called_back.within(ts, stop) > 0
    where: dict[str, NDArray[Any]] = {
        "track": spans.track[steps][calls_back],
        "ts": ts[calls_back],
        "stop": stop[calls_back],
    }
    own = calls[inside({"track": spans.track[calls], "ts": spans.ts[calls]}, where)]
    return np.sort(spans.id[np.concatenate((steps[~calls_back], own))]).astype(np.int64)


def _class(steps: set[str]) -> str:
    """The one class whose steps these are."""
    told = {found[1] for one in steps if (found := _NAMED.match(one))}
    return told.pop() if len(told) == 1 else ""


def _steps(spans: Spans, names: dict[int, str], wrappers: list[int]) -> NDArray[np.int64]:
    """Positions of the optimizer's steps by start, the longest first of those that start together."""
    functions = [name_id for name_id, name in names.items() if _FUNCTION.search(name)]
    found = np.zeros(spans.name.size, np.bool_)
    for chosen, categories in ((wrappers, ("op", "annotation")), (functions, ("python",))):
        found |= np.isin(spans.name, chosen) & spans.of(*categories)
    at = np.flatnonzero(found & (spans.dur > 0) & (spans.step >= 0))
    return at[np.lexsort((-spans.dur[at], spans.ts[at]))]


def _called(spans: Spans, ranges: dict[str, NDArray[Any]], wrappers: list[int]) -> NDArray[np.int64]:
    """Positions of the operators that the steps call: outermost ones, and those inside a wrapper."""
    at = np.flatnonzero(spans.of("op") & np.isin(spans.track, ranges["track"]))
    at = at[inside({"track": spans.track[at], "ts": spans.ts[at]}, ranges)]
    around = spans.around[at]
    outermost = (around < 0) | (spans.category[around] != CATEGORIES.index("op"))
    called: NDArray[np.int64] = at[outermost | np.isin(spans.name[around], wrappers)]
    return called


@signal("per step")
def tensor_updates(s: Signals) -> float:
    """Operators per step that each update one tensor; 0 if the optimizer works on lists of tensors."""
    found = s(updates)
    # Where launches of the step are recorded, calls without any do nothing to a tensor of the device.
    number = min(found.calls, found.kernels.size) if found.kernels.size else found.calls
    return 0.0 if found.fused or found.calls < found.others else number / s(recorded_steps)
