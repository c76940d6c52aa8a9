"""The passes of a server on the host and on its device, found once for all that ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.recorded_events import names_of
from stepscope.model.events.columns import Spans, on_host
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.model.serving_names import Pass, served
from stepscope.model.trace import Trace

#: A gap this many times as long as what follows parts a pass from what came before, if that is less than this part of
#: its work.
_LONG: Final = 0.5
_FEW: Final = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class ServedPass:
    """A pass over a batch.

    Attributes:
        batch: What its range says.
        start: Start of the range on the host, ns.
        stop: End of the range, ns.
        thread: Track of the range.
        work: int64[k], positions in `DeviceWork` of what was launched in it.
        device_start: Start of that work, without a few copies that lie long before the rest; None if there is none.
        device_end: End of that work.
    """

    batch: Pass
    start: int
    stop: int
    thread: int
    work: NDArray[np.int64]
    device_start: int | None
    device_end: int | None

    @property
    def device_ns(self) -> int | None:
        """From `device_start` to `device_end`."""
        return None if self.device_start is None or self.device_end is None else self.device_end - self.device_start

    @property
    def answering(self) -> bool:
        """Whether requests wait for a token that it makes, as far as its range tells."""
        return bool(self.batch.answers)

    @property
    def reading(self) -> bool:
        """Whether it reads prompts and does nothing else."""
        return bool(self.batch.prompts) and self.batch.answers == 0


def served_passes(trace: Trace) -> list[ServedPass]:
    """The passes in time order; ask for it with `Trace.once`. Empty where no range is named as servers name theirs."""
    known = [(number, served(name)) for number, name in names_of(trace, ("annotation", "step"))]
    batches: dict[int, Pass] = {number: one for number, one in known if one is not None}
    if not batches:
        return []
    spans, work = Spans(trace), DeviceWork.of(trace)
    at = np.flatnonzero(np.isin(spans.name, list(batches)) & (spans.dur > 0))
    at = at[on_host(trace, spans.track[at])]
    at = at[np.lexsort((-spans.dur[at], spans.ts[at]))]
    order = np.flatnonzero(work.launched & ~work.are("sync"))
    order = order[np.argsort(work.called[order], kind="stable")]
    called = work.called[order]
    found: list[ServedPass] = []
    for row in at.tolist():
        start, stop = int(spans.ts[row]), int(spans.ts[row] + spans.dur[row])
        batch, thread = batches[int(spans.name[row])], int(spans.track[row])
        if found and start < found[-1].stop:
            # One server's range may lie in another's, which may leave out what this one tells.
            last = found[-1]
            if last.start <= start and stop <= last.stop and last.batch.tokens is None and batch.tokens is not None:
                found[-1] = _pass(batch, last.start, last.stop, last.thread, last.work, work)
            continue
        mine = order[np.searchsorted(called, start) : np.searchsorted(called, stop)]
        found.append(_pass(batch, start, stop, thread, mine, work))
    return found


def _pass(batch: Pass, start: int, stop: int, thread: int, mine: NDArray[np.int64], work: DeviceWork) -> ServedPass:
    span = _span(Intervals.union_of(work.ts[mine], work.ts[mine] + work.dur[mine]))
    return ServedPass(batch, start, stop, thread, mine, *(span or (None, None)))


def _span(busy: Intervals) -> tuple[int, int] | None:
    """Start of a pass's device work and its end.

    A few copies before a long gap belong to the time before: profilers start late, and servers prepare a batch.
    """
    if not busy.starts.size:
        return None
    gaps = busy.starts[1:] - busy.ends[:-1]
    if gaps.size:
        after = int(gaps.argmax()) + 1
        rest = int(busy.ends[-1] - busy.starts[after])
        few = (busy.ends[:after] - busy.starts[:after]).sum() < _FEW * busy.total
        if gaps.max() > rest * _LONG and few:
            return int(busy.starts[after]), int(busy.ends[-1])
    return int(busy.starts[0]), int(busy.ends[-1])
