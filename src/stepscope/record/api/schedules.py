"""Which steps are recorded."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.record.api.options import ProfilerAction


@dataclass(frozen=True, slots=True)
class ProfilerSchedule:
    """What the profiler does in each step: the arguments of `schedule`, and the action of a step when called."""

    wait: int
    warmup: int
    active: int
    repeat: int
    skip_first: int
    skip_first_wait: int

    def __call__(self, step: int) -> ProfilerAction:
        """The action of a step, by its number."""
        step -= self.skip_first
        if step < 0:
            return ProfilerAction.NONE
        if self.skip_first_wait:
            # The first cycle does not wait.
            step += self.wait
        cycle = self.wait + self.warmup + self.active
        at = step % cycle
        if (self.repeat and step // cycle >= self.repeat) or at < self.wait:
            return ProfilerAction.NONE
        if at < self.wait + self.warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE


def schedule(
    *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> ProfilerSchedule:
    """A schedule: skip some steps once, then in cycles wait, warm up and record.

    Args:
        wait: Steps of a cycle in which the profiler is off.
        active: Steps that are recorded.
        warmup: Steps before them with the profiler on, thrown away.
        repeat: Number of cycles; 0 for as many as there are steps for.
        skip_first: Steps before the first cycle.
        skip_first_wait: Other than 0, the first cycle does not wait.

    Raises:
        UserError: A number is negative, or no step is active.
    """
    made = ProfilerSchedule(wait, warmup, active, repeat, skip_first, skip_first_wait)
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise UserError(
            said(
                "a schedule can't have wait={wait}, warmup={warmup}, active={active}, repeat={repeat},"
                " skip_first={skip_first}",
                wait=wait,
                warmup=warmup,
                active=active,
                repeat=repeat,
                skip_first=skip_first,
            ),
            hint="give active=1 or more, and no negative number",
        )
    return made
