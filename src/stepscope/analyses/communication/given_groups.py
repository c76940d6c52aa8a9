"""Process groups as a user states them, which count more than what recordings tell of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stepscope.model.trace import Trace


@dataclass(frozen=True, slots=True)
class GivenGroup:
    """A group as stated.

    Attributes:
        parallelism: What it is for: data, tensor, pipeline, expert, context, model, embedding or world.
        ranks: Its ranks, ascending; empty if the name alone tells.
        group: Its recorded name; empty if the ranks alone tell.
    """

    parallelism: str
    ranks: tuple[int, ...]
    group: str

    def is_that(self, name: object, ranks: object) -> bool:
        """Whether a recorded group is this one: by its name and ranks, as far as these are stated."""
        same = not self.ranks or (isinstance(ranks, (list, tuple)) and tuple(sorted(ranks)) == self.ranks)
        return same and self.group in ("", name)


def given_groups(trace: Trace) -> tuple[GivenGroup, ...]:
    """The groups that the user states of a job; none unless `Trace.state` says so of a rank."""
    del trace
    return ()


def given_for(stated: Iterable[GivenGroup], name: str, ranks: Sequence[int]) -> GivenGroup | None:
    """What is stated of a recorded group, whose ranks are empty if not recorded; None for nothing."""
    return next((one for one in stated if one.is_that(name, tuple(ranks))), None)
