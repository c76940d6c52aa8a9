"""Find steps: one iteration of the outer loop, from updates by optimizers, batches of loaders and calls of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import Final

from stepscope.record.steps.updates import StepUpdates

#: So many batches without an update, although there is an optimizer: the program evaluates, or steps in its own way.
#: More than gradients are accumulated over.
_BATCHES_WITHOUT_UPDATE: Final = 256
#: So many calls of other models since the last one of the model by which steps are counted: it is used no more.
_CALLS_OF_OTHERS: Final = 200


class StepFinder:
    """Says after each event of a program whether a step starts there, and counts.

    A step of training closes with the update of the optimizer that updates last in each iteration, and the next one
    starts where the next batch is asked for, or at once in a loop that asks no loader. Batches over which gradients are
    accumulated belong to one step, and so do updates of a GAN's networks. Without an optimizer a step is a batch;
    without a loader either, a call of the model that is called first.

    Attributes:
        number: The step that is going on, from 0.
        source: What steps are found by: `optimizer`, `loader`, `model` or, as long as there are none, nothing.
    """

    def __init__(self) -> None:
        self.number = 0
        self.source = ""
        self.expects_updates = False
        self._updates = StepUpdates()
        self._batches = 0
        self._since_update = 0
        self._asks_loader = False
        self._awaits_batch = False
        self._leader: Hashable = None
        self._calls: Counter[Hashable] = Counter()
        self._others = 0
        self._held = False

    def hold(self) -> None:
        """Keep to what steps are found by: some are being recorded."""
        self._held = True
        self._updates.hold()

    @property
    def asks_loader(self) -> bool:
        """Whether a step that an update closes goes on until a batch is asked for."""
        return self._asks_loader

    @property
    def closed_by(self) -> tuple[Hashable, Collection[Hashable]]:
        """The optimizer that closes steps, or the model whose calls are steps, and all that are known."""
        if self.source == "optimizer":
            return self._updates.closer, self._updates.known
        return self._leader, self._calls

    @property
    def is_regular(self) -> bool:
        """Whether each step was counted, and the next can be by what ends it alone."""
        counts = {"optimizer": self._updates.closed, "loader": self._batches - 1, "model": self.number}
        return self.number == counts.get(self.source, -1)

    def passed_over(self, steps: int, order: Sequence[Hashable], *, awaits: bool) -> None:
        """Count steps that went by as the last one did.

        Args:
            steps: How many are over.
            order: Optimizers or models in the order in which they were seen, if there are several.
            awaits: Whether one is over but for the batch that ends it.
        """
        if self.source == "optimizer":
            self._awaits_batch = awaits
            self._since_update = int(self._asks_loader and not awaits)
            self._updates.passed_over(steps + awaits, order)
            self.number = max(self.number, self._updates.closed)
        elif self.source == "loader":
            self._since_update += steps
            self._batches += steps
            self.number = self._batches - 1
        elif self.source == "model":
            self._calls.update(order or {self._leader: steps})
            behind = next((at for at, one in enumerate(reversed(order)) if one == self._leader), len(order))
            self._others = behind if steps else self._others + behind
            self.number = self._calls[self._leader] - 1

    def batch(self) -> bool:
        """A batch is about to be asked for.

        Returns:
            Whether a step starts here.
        """
        self._since_update += 1
        if self.source == "optimizer":
            starts, self._awaits_batch = self._awaits_batch, False
            return starts
        self._batches += 1
        if self.expects_updates and self._batches <= _BATCHES_WITHOUT_UPDATE:
            return False
        if self._held and self.source != "loader":
            return False
        if self.source != "loader":
            # The batches so far were steps, too.
            self.source = "loader"
        self.number = self._batches - 1
        return True

    def update(self, optimizer: Hashable) -> bool:
        """An optimizer has updated its parameters.

        Returns:
            Whether the next step starts here; otherwise it starts with a batch, or goes on.
        """
        if self._held and self.source != "optimizer":
            return False
        self.source = "optimizer"
        closed = self._updates.add(optimizer)
        late = self._awaits_batch
        if not closed:
            return False
        grown, self.number = self._updates.closed > self.number, self._updates.closed
        if not grown:
            # Another optimizer closes steps than seemed to so far.
            return False
        asked, self._since_update = self._since_update > 0, 0
        if asked:
            self._asks_loader = True
        elif late:
            # A whole step went by without a batch.
            self._asks_loader = False
        self._awaits_batch = self._asks_loader
        return not self._asks_loader

    def call(self, model: Hashable) -> bool:
        """A model is called.

        Returns:
            Whether a step starts here.
        """
        if self.source in ("optimizer", "loader") or self.expects_updates:
            return False
        self._calls[model] += 1
        if self._leader is None or (self._others >= _CALLS_OF_OTHERS and not self._held):
            self._leader = model
        if model != self._leader:
            self._others += 1
            return False
        self._others = 0
        self.source = "model"
        self.number = self._calls[model] - 1
        return True
