"""Which update by an optimizer closes a step, where there are several optimizers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Hashable, Sequence
from itertools import repeat
from typing import Final

#: StepUpdates that are looked back on.
_WINDOW: Final = 256
#: An optimizer that updates this many times less often than another is no part of every step.
_RARE: Final = 16


class StepUpdates:
    """Counts the updates of each optimizer, and decides which optimizer's close steps.

    Of the optimizers that update least often in an iteration it is the one that came last: the second network of a
    GAN, also where the first is updated several times per step. An optimizer that is hardly ever used closes none.
    """

    def __init__(self) -> None:
        self._counts: Counter[Hashable] = Counter()
        self._recent: deque[Hashable] = deque(maxlen=_WINDOW)
        self._closer: Hashable = None
        self._held = False

    @property
    def closed(self) -> int:
        """Number of steps closed so far."""
        return self._counts[self._closer]

    @property
    def closer(self) -> Hashable:
        """The optimizer that closes steps."""
        return self._closer

    @property
    def known(self) -> Collection[Hashable]:
        """All that updated so far."""
        return self._counts

    def hold(self) -> None:
        """Keep to the optimizer that closes steps."""
        self._held = True

    def add(self, optimizer: Hashable) -> bool:
        """Count an update; whether it closes a step."""
        self._counts[optimizer] += 1
        self._recent.append(optimizer)
        if not self._held:
            self._closer = self._choose()
        return optimizer == self._closer

    def passed_over(self, steps: int, order: Sequence[Hashable]) -> None:
        """Count updates of optimizers that are known.

        Args:
            steps: Updates that closed a step.
            order: All updates, if there are several optimizers.
        """
        if order:
            self._counts.update(order)
            self._recent.extend(order)
        else:
            self._counts[self._closer] += steps
            self._recent.extend(repeat(self._closer, min(steps, _WINDOW)))
        if not self._held:
            self._closer = self._choose()

    def _choose(self) -> Hashable:
        if len(self._counts) == 1:
            return self._recent[-1]
        recent = Counter(self._recent)
        most = max(recent.values())
        # One that has only just appeared, or left the window half, has one update less than the others.
        regular = {one: count for one, count in recent.items() if count * _RARE >= most}
        fewest = min(regular.values())
        last = None
        for one in self._counts:
            if regular.get(one, fewest + 2) <= fewest + 1:
                last = one
        return last
