"""Calls of the driver's allocator, for tests of rules about memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stepscope.signals.memory.driver_memory import DriverCalls


def driver_calls(
    steps: int, per_step: str = "tf", *, in_operator: Sequence[bool] = (True, False), only: Sequence[int] | None = None
) -> DriverCalls:
    """In each step a call per letter: t takes memory, f gives it back; each takes 100 µs.

    Args:
        steps: Number of steps.
        per_step: What happens in each.
        in_operator: For each letter, whether an operator makes the call.
        only: Steps in which there are calls; None for all.
    """
    chosen = range(steps) if only is None else only
    step = np.repeat(np.array(list(chosen), np.int64), len(per_step))
    count = step.size
    free = np.tile(np.array([letter == "f" for letter in per_step], np.bool_), len(chosen))
    inside = np.tile(np.array(in_operator[: len(per_step)], np.bool_), len(chosen))
    times = np.arange(count) * 1_000_000
    calls = DriverCalls(np.arange(count), times, np.full(count, 100_000), step, free, inside, np.arange(steps))
    return replace(calls)
