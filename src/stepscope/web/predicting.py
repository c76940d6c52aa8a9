"""What the ranks of a trace would be like with changes: the engine of `stepscope whatif`, asked by the page."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.web.changeable import Asked, Changeable
from stepscope.web.making import Making, Note, Progress

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.rules.settings import Settings


class Predicting:
    """Predictions for the ranks of a trace; what can be changed is found out once for each rank.

    Args:
        trace: The trace; stays open as long as it is asked.
        settings: Which rules run, and their thresholds.
    """

    def __init__(self, trace: Trace, settings: Settings | None) -> None:
        self._trace, self._settings = trace, settings
        self._guard = threading.Lock()
        self._made: dict[int, Making[Changeable]] = {}
        self._decisive: int | None = None

    def answer(self, rank: int | None, asked: Asked) -> dict[str, Any] | Progress:
        """What changes of a rank's steps bring, or how far it is to know what can be changed.

        Args:
            rank: The rank; None for the one that the others wait for.
            asked: The changes; none for the steps as they are.

        Raises:
            StepscopeError: Nothing can be predicted of the recording, or a change means nothing.
        """
        chosen = self._chosen(rank)
        made = self._making(chosen).asked()
        if isinstance(made, Progress):
            return made
        return {"rank": chosen, "ranks": list(self._trace.ranks), **made.answer(asked)}

    def _chosen(self, rank: int | None) -> int:
        if rank is not None:
            if rank not in self._trace.ranks:
                raise UserError(said("the recording has no rank {rank}", rank=rank))
            return rank
        with self._guard:
            if self._decisive is None:
                from stepscope.analyses.communication.decisive_rank import decisive_rank

                self._decisive = decisive_rank(self._trace.for_thread())
            return self._decisive

    def _making(self, rank: int) -> Making[Changeable]:
        from stepscope.rules.settings import Settings

        def make(note: Note) -> Changeable:
            return Changeable.of(self._trace.rank(rank).for_thread(), self._settings or Settings(), note)

        with self._guard:
            if rank not in self._made:
                # One rank at a time is kept: its graph and its events take memory.
                self._made = {rank: Making(f"the graph of rank {rank}", make)}
            return self._made[rank]
