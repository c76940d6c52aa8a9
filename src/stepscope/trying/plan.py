"""How much of a program each run times, so that the most promising remedies get their pairs in the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.trying.runs import RunResult
from stepscope.trying.timing import TURN_STEPS, TURNS

#: Pairs of runs after which a remedy is looked at, and looked at again where a gain is possible but not sure. Each look
#: is a chance to take noise for a gain, so that there are few.
LOOKS: Final = (4, 6, 8)
#: Remedies for which the time is shared out; what comes after them gets what is left.
_FOR: Final = 3
#: Steps without which a program has not warmed up, and of which a mean says something.
_FEWEST_WARMUP: Final = 3
_FEWEST_STEPS: Final = 6
#: By how much longer two programs take to start beside each other.
_BESIDE: Final = 1.5


@dataclass(frozen=True, slots=True)
class RunPlan:
    """How long each run of a pair is.

    Attributes:
        warmup: Steps that do not count.
        steps: Timed steps at least.
        turn_steps: Steps of a turn at least.
    """

    warmup: int
    steps: int
    turn_steps: int


def planned(first: RunResult, left_s: float, remedies: int, warmup: int, steps: int) -> RunPlan:
    """Plan the runs of pairs.

    Of a pair that takes turns, both runs warm up on the same cores, and one stands while the other is timed, so that it
    takes its start and twice as long as the steps of one of them.

    Args:
        first: The first run of the unchanged program.
        left_s: Seconds that are left for pairs.
        remedies: How many are to be tried.
        warmup: Steps that do not count, at most.
        steps: Steps to time of each run, at most.
    """
    step_s = first.step_ns / 1e9
    start_s = _BESIDE * max(0.0, first.seconds - step_s * (first.steps + warmup))
    pairs = LOOKS[0] * min(_FOR, max(1, remedies))
    fit = (left_s / pairs - start_s) / max(2 * step_s, 1e-9)
    if fit < warmup + steps:
        short = min(warmup, max(_FEWEST_WARMUP, int(fit / 3)))
        steps = min(steps, max(_FEWEST_STEPS, int(fit) - short))
        warmup = short
    return RunPlan(warmup, steps, max(1, min(TURN_STEPS, -(-steps // TURNS))))
