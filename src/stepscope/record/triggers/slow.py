"""Tell a slow step from the steps before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import median
from typing import Final

#: Steps that one is compared with, and how many there must be.
_COMPARED: Final = 100
_FEWEST: Final = 15
#: Steps between two looks at what is usual: a median of a hundred takes 5 µs.
_BETWEEN: Final = 10
#: As long as so many of those that it is compared with, a step is none of a kind: evaluation and checkpoints return.
_ALIKE: Final = 3
_NEARLY: Final = 0.8
#: Longer than any step.
_NEVER: Final = 1 << 62


class SlowStepFinder:
    """Finds steps that take so many times as long as usual, and longer than all but two of the hundred before.

    The usual length is the median, which neither a few long steps nor one of any length moves.

    Args:
        factor: How many times the usual length makes a step slow; 0 for never.

    Attributes:
        usual_ns: The usual length; 0 as long as it is not known.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._lengths: deque[int] = deque(maxlen=_COMPARED)
        self._since = 0
        self.usual_ns = 0

    @property
    def limit_ns(self) -> int:
        """The length up to which a step is as usual; 0 as long as that is not known."""
        return int(self._factor * self.usual_ns) if self._factor else _NEVER

    def passed_over(self, lengths: Sequence[int]) -> None:
        """Have the next steps compared with these, too, which were as usual."""
        self._lengths.extend(lengths)
        self._since += len(lengths)

    def is_slow(self, length_ns: int) -> bool:
        """Whether the step that is over was slow; it is compared with the next ones then."""
        if not self._factor or length_ns <= 0:
            return False
        lengths = self._lengths
        if len(lengths) >= _FEWEST and (not self.usual_ns or self._since >= _BETWEEN):
            self.usual_ns, self._since = int(median(lengths)), 0
        slow = bool(self.usual_ns) and length_ns > self._factor * self.usual_ns
        if slow:
            # Only now, so that a usual step costs no look at the others.
            slow = sum(one >= _NEARLY * length_ns for one in lengths) < _ALIKE
        lengths.append(length_ns)
        self._since += 1
        return slow
