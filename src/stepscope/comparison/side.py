"""One side of a comparison: a rank and its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stepscope.analyses.communication.decisive_rank import decisive_rank
from stepscope.analyses.shared.narrow import Filter, narrowed
from stepscope.analyses.shared.needs import has_device
from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.language import said
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.events.steps import Steps
from stepscope.model.recording import Recording
from stepscope.model.trace import Trace

#: What the lengths are of: steps on the devices, steps on the host (no device is recorded), the whole recording (no
#: steps are known), or nothing, as in a memory snapshot.
Unit = Literal["step", "host step", "window", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedSide:
    """A rank and the n steps of it that are compared.

    Attributes:
        trace: The whole trace of the rank.
        rank: The rank.
        ranks: How many the input has.
        steps: Numbers of the steps, in time order.
        lengths: ns of each.
        devices: Devices that a step's time is a mean over, at least 1.
        unit: What the lengths are of.
    """

    trace: Trace
    rank: int
    ranks: int
    steps: tuple[int, ...]
    lengths: tuple[int, ...]
    devices: int
    unit: Unit

    @property
    def recording(self) -> Recording:
        """The rank's recording."""
        return self.trace.recordings[self.rank]

    @property
    def times(self) -> int:
        """What sums over steps and devices are divided by; at least 1."""
        return max(1, len(self.steps) * self.devices)


def side_of(trace: Trace, rank: int, steps: Sequence[int] = ()) -> ComparedSide:
    """The side that a rank of a trace is, with its typical steps or those asked for.

    Raises:
        UserError: The rank lacks one of the steps.
    """
    one = trace.rank(rank)
    known = Steps.of(one)
    for step in steps:
        if step not in known.step:
            raise UserError(
                said("rank {rank} has no step {step}", rank=rank, step=step),
                hint=said("it has {steps}", steps=_listed(known.step.tolist())),
            )
    chosen = np.isin(known.step, steps) if steps else known.typical
    if not chosen.any():
        chosen = known.whole if known.whole.any() else np.ones(known.step.size, np.bool_)
    numbers = tuple(known.step[chosen].tolist())
    unit: Unit
    if one.once(has_device):
        lengths, unit = known.length[chosen], ("step" if known.found[chosen].all() else "window")
    else:
        lengths, unit = (known.stop - known.ts)[chosen], "host step"
    # How long a recording without steps and without a device lasts is the time of nothing.
    if not numbers or not int(lengths.sum()) or (unit == "host step" and not known.found[chosen].all()):
        return ComparedSide(one, rank, len(trace.ranks), numbers, tuple(lengths.tolist()), 1, "none")
    return ComparedSide(one, rank, len(trace.ranks), numbers, tuple(lengths.tolist()), _devices(one, numbers), unit)


def chosen_rank(base: Trace, new: Trace) -> tuple[int, int]:
    """The ranks to compare where none is asked for: the one of `base` that waits least for the others, on both sides.

    Where `new` lacks it, the one of `new` that waits least: on both sides, if they are parts of jobs of equal size.
    """
    first = decisive_rank(base)
    if first in new.ranks:
        return first, first
    second = decisive_rank(new)
    sizes = base.recordings[first].world_size, new.recordings[second].world_size
    alike = second in base.ranks and sizes[0] is not None and sizes[0] == sizes[1]
    return (second, second) if alike else (first, second)


def tells_calls(side: ComparedSide) -> bool | None:
    """Whether calls of the device's runtime are recorded, others than launches too; None without a device.

    At its lowest level, a profiler may leave the others out: waits for the device then have no cause.
    """
    if side.unit not in ("step", "window"):
        return None
    events = side.trace.once(recorded_events)
    left_out = str(side.recording.attributes.get("profiler_level", "")).lower() == "level0"
    return bool(events.on_host(("runtime", "sync")) or (events.on_host(("launch",)) and not left_out))


def within(side: ComparedSide) -> Trace:
    """The side's steps alone; of a recording without steps all of it."""
    return side.trace if side.unit in ("window", "none") else narrowed(side.trace, Filter(steps=side.steps))


def _devices(trace: Trace, steps: Sequence[int]) -> int:
    try:
        rows = trace.once(step_budget).records()
    except MissingInputError:
        return 1
    return max(1, len({row["device"] for row in rows if row["step"] in steps}))


def _listed(numbers: list[int]) -> str:
    if not numbers:
        return said("none")
    if len(numbers) > 6:
        return said("{first} to {last}", first=numbers[0], last=numbers[-1])
    return ", ".join(map(str, numbers))
