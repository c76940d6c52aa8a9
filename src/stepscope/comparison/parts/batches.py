"""The steps of a side as batches of neighbours, by which sums are told apart to know how much they vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.comparison.parts.amounts import Amount
from stepscope.comparison.side import ComparedSide
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Times

#: StepBatches of a side, at most: enough to know a spread, and few enough for tables of many thousand rows.
_MOST: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class StepBatches:
    """A side's n compared steps in b batches, each of steps that follow each other.

    Attributes:
        end: int64[n], end of each step on the devices.
        stop: int64[n], end on the host.
        batch: int64[n], batch of each step.
        size: float64[b], steps of each batch.
    """

    end: Times
    stop: Times
    batch: NDArray[np.int64]
    size: NDArray[np.float64]

    @classmethod
    def of(cls, side: ComparedSide) -> StepBatches:
        """Those of a side; of one without steps there is one batch."""
        steps = Steps.of(side.trace)
        chosen = np.isin(steps.step, side.steps)
        number = int(chosen.sum())
        batch = np.arange(number) * min(number, _MOST) // max(1, number)
        size = np.maximum(np.bincount(batch, minlength=1), 1).astype(np.float64)
        return cls(steps.end[chosen], steps.stop[chosen], batch, size)

    def at(self, moments: Times) -> NDArray[np.int64]:
        """The batch of each moment on the devices: that of the step around it, else of the next one."""
        return self._at(moments, self.end)

    def at_host(self, moments: Times) -> NDArray[np.int64]:
        """The same of moments on the host."""
        return self._at(moments, self.stop)

    def amounts(
        self, group: NDArray[np.int64], batch: NDArray[np.int64], values: Times, count: NDArray[np.int64]
    ) -> list[Amount]:
        """Sums of values by group, each with its `count`.

        Args:
            group: int64[m], group of each value.
            batch: int64[m], batch of each value.
            values: int64[m].
            count: int64[g], how many of each group.
        """
        times = values.astype(np.float64)
        sums = np.zeros(count.size, np.int64)
        np.add.at(sums, group, values)
        squares = np.bincount(group, times**2, count.size)
        by_batch = self.sums(group, batch, times, count.size)
        return [Amount(*row) for row in zip(sums.tolist(), count.tolist(), squares.tolist(), by_batch, strict=True)]

    def _at(self, moments: Times, ends: Times) -> NDArray[np.int64]:
        if not self.batch.size:
            return np.zeros(moments.size, np.int64)
        return np.asarray(self.batch[np.minimum(np.searchsorted(ends, moments, side="right"), self.batch.size - 1)])

    def sums(self, group: NDArray[np.int64], batch: NDArray[np.int64], values: NDArray[Any], groups: int) -> Any:
        """Mean of each group per step, in each batch: float64[groups, b]."""
        number = self.size.size
        found = np.bincount(group * number + batch, values, groups * number).reshape(groups, number)
        return found / self.size
