"""A remedy: which findings name it, what it needs, how it is applied from outside, and what may change by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from stepscope.trying.seen import Seen

#: What a remedy may do to the numbers of a program. exact: nothing. rounding: sums are added in another order.
#: precision: numbers have fewer digits. random: random numbers are drawn elsewhere, so that they are others.
Numbers = Literal["exact", "rounding", "precision", "random"]

#: By how much losses and gradient norms may differ, as shares, for their numbers to count as the same.
LOSS_TOLERANCE: Final[Mapping[Numbers, float]] = {"exact": 1e-4, "rounding": 1e-3, "precision": 1e-2, "random": 1e-3}
NORM_TOLERANCE: Final[Mapping[Numbers, float]] = {"exact": 1e-3, "rounding": 1e-2, "precision": 5e-2, "random": 1e-2}

#: From the arguments that the program gives an interface, defaults included, and facts of it to those to change.
Edit = Callable[[Mapping[str, Any], Seen], Mapping[str, Any]]


def _nothing(seen: Seen) -> Mapping[str, str | None]:
    del seen
    return {}


def _never(seen: Seen) -> bool:
    del seen
    return False


def _all(seen: Seen) -> float:
    del seen
    return 1.0


def _unknown(seen: Seen) -> float | None:
    del seen
    return None


def _always(seen: Seen) -> str:
    del seen
    return ""


@dataclass(frozen=True, slots=True)
class OutsideRemedy:
    """Something that can be changed about a program without touching its files.

    It is applied to one run, in which every process is new, so ending the run takes it back. Whatever it does within a
    process depends on the standard library and torch alone.

    Attributes:
        name: Words joined by hyphens, as in `--only NAME`.
        title: What it does, a phrase.
        rules: Codes of the rules whose findings name it.
        numbers: What it may do to losses.
        changes: The same in words, a phrase.
        fits: Why it can't be applied to what was seen, a phrase; empty if it can.
        evident: Whether what was seen of the program names it by itself, without a finding.
        most: The largest share of the step that it can save on this machine, whatever a finding's price is.
        predicts: What it saves, as a share of the step, where no finding has a price; None if that is not known.
        worth: Whether what was seen makes it worth a try without a finding, after those that one names.
        variables: Environment variables to set; None takes one away.
        edits: By kind of interface (`loader`, `optimizer`, `ddp`), what to change of the arguments.
        start: Done once torch is imported, before the program uses it; whether there was something to do.
        model: Done with each model that no other calls, before its first call; whether there was something to do.
        first_step: Done where the first step starts.
        write: Lines to write into the program or its start, where the edits of arguments do not say it.
        excludes: Names of remedies that it can't be combined with.
        unpriced: Those of its rules that name it only where they have no price: a price is that of another remedy.
        settles: Steps more that a program takes until what it does with the remedy goes on like that.
    """

    name: str
    title: str
    rules: tuple[str, ...]
    numbers: Numbers
    changes: str
    fits: Callable[[Seen], str] = _always
    evident: Callable[[Seen], bool] = _never
    worth: Callable[[Seen], bool] = _never
    most: Callable[[Seen], float] = _all
    predicts: Callable[[Seen], float | None] = _unknown
    variables: Callable[[Seen], Mapping[str, str | None]] = _nothing
    edits: Mapping[str, Edit] = field(default_factory=dict)
    start: Callable[[Seen], bool] | None = None
    model: Callable[[Any, Seen], bool] | None = None
    first_step: Callable[[], None] | None = None
    write: Callable[[Seen], tuple[str, ...]] | None = None
    excludes: tuple[str, ...] = ()
    unpriced: tuple[str, ...] = ()
    settles: int = 0

    @property
    def is_of_environment(self) -> bool:
        """Whether variables are all that it sets."""
        return not (self.edits or self.start or self.model or self.first_step)
