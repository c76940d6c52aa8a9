"""Rules, and their drafts of findings before these are priced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.change import Change
from stepscope.rules.finding import FAMILIES, Action, Fate
from stepscope.signals import Signal, Signals

#: Families whose rules look at all that was recorded.
_WHOLE = ("memory", "recording")
_NO_EVENTS: NDArray[np.int64] = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number a rule decides by, which users may set.

    Attributes:
        name: As in `--set CODE.name=value`.
        default: Its value.
        unit: Of the signal it is held against.
        why: Where the default comes from.
    """

    name: str
    default: float
    unit: str
    why: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What a rule found on one rank, or in the job.

    Attributes:
        title: What is wrong, a short phrase; the same on every rank, which merges ranks.
        summary: What was seen and why it matters, with figures.
        actions: What to do, the most promising first.
        change: What the remedy does to the step; it is priced on the step's dependency graph.
        explaining: The part of the change that other findings may be symptoms of; null for all of it.
        cost_ns: The price per step, for rules whose remedy no change of the graph expresses; null for advice.
        most_ns: What is to be saved takes so much of a step, by what the summary says: the price is not higher. What
            would be gained besides, since other things could then be hidden, is theirs.
        unlinked_ns: The price per step by what was measured, for recordings that don't link device work to its calls:
            there the graph can't tell what the device gains by a change on the host.
        taken_ns: Without a price: what it is about takes so much of a step. It decides the place among others.
        waiting: The device computes nothing in `taken_ns`, so that much of it can be saved.
        instead: What is said in its place where its price comes to less than is shown, though what it is about takes
            much of the step: the remedy is another one then.
        placed_as_ns: Without a price: its place among others is that of what costs so much, whatever it is about.
        recorded_share: What is to be saved as a share of the recorded time, where it is no part of a step and has no
            price.
        confidence: Between 0 and 1.
        events: The most relevant events, at most a few dozen.
        ranges: Start and end of the longest stretches.
        steps: Steps it was seen in; empty for all.
        rows: Rows of tables, see `Evidence`.
        numbers: Signals that decided, and their values.
        always: Show it however little it costs: it is certain, and simple to change.
        fate: Whether it made the program fail, or will before long, which puts it first.
        key: Distinguishes several findings of one rule on one rank.
        ranks: Ranks concerned, for rules about the whole job; else the rank it was found on.
        late: Ranks that it says the others wait for.
        apart_from: Codes of rules that the rule is a symptom of in general, and this draft is not.
    """

    title: str
    summary: str
    actions: tuple[Action, ...]
    change: Change | None = None
    explaining: Change | None = None
    cost_ns: int | None = None
    most_ns: int | None = None
    unlinked_ns: int | None = None
    taken_ns: int | None = None
    waiting: bool = False
    instead: Draft | None = None
    placed_as_ns: int | None = None
    recorded_share: float | None = None
    confidence: float = 0.9
    events: NDArray[np.int64] = field(default_factory=lambda: _NO_EVENTS)
    ranges: tuple[tuple[int, int], ...] = ()
    steps: tuple[int, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)
    always: bool = False
    fate: Fate = ""
    key: str = ""
    ranks: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    apart_from: tuple[str, ...] = ()


#: Thresholds by name, as they are set for this run.
Limits = Mapping[str, float]
#: Looks at the signals of one rank.
Check = Callable[[Signals, Limits], Iterable[Draft]]
#: Looks at the signals of all ranks, by rank.
JobCheck = Callable[[Mapping[int, Signals], Limits], Iterable[Draft]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. Its module's docstring is its documentation; `stepscope.rules.documentation` lists the headings.

    Attributes:
        code: Three letters of the family and a number, for example `DAT001`.
        name: The problem, in words joined by hyphens.
        thresholds: Its thresholds, which users may set.
        check: Looks at one rank, and yields what it finds.
        job_check: Looks at all ranks together; a rule has one of the two.
        reads: Signals that `job_check` reads; others are not at hand by then.
        symptom_of: Codes of rules that, where they find something, are the cause of what this one finds.
        whole: Whether it looks at all that was recorded, start-up and warm-up too; all others look at the typical steps
            and nothing else. Rules about memory and about the recording always do.
        elsewhere: What to do in programs that the actions of its drafts do not fit, for example without a framework.
    """

    code: str
    name: str
    thresholds: tuple[Threshold, ...] = ()
    check: Check | None = None
    job_check: JobCheck | None = None
    reads: tuple[Signal[Any], ...] = ()
    symptom_of: tuple[str, ...] = ()
    whole: bool = False
    elsewhere: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Registered:
    """A rule with its family and documentation, which follow from its module.

    Attributes:
        rule: The rule.
        family: One of `FAMILIES`, or the family that a third party's module names.
        title: First line of the documentation.
        documentation: All of it, Markdown.
        module: Where it is defined.
    """

    rule: Rule
    family: str
    title: str
    documentation: str
    module: str

    @property
    def whole(self) -> bool:
        """Whether it looks at all that was recorded."""
        return self.rule.whole or self.family in _WHOLE

    def __reduce__(self) -> tuple[Callable[..., Registered], tuple[str, str]]:
        """Sent to another process by its module, since its checks are functions."""
        return _registered, (self.module, self.family)

    @classmethod
    def from_module(cls, module: ModuleType, family: str) -> Registered:
        """Adopt the `RULE` of a module.

        Raises:
            ValueError: The family is unknown, or the rule has not exactly one check.
        """
        rule: Rule = module.RULE
        if family not in FAMILIES:
            raise ValueError(f"{module.__name__}: no family is called {family!r}")
        if (rule.check is None) == (rule.job_check is None):
            raise ValueError(f"{module.__name__}: a rule has either check or job_check")
        documentation = (module.__doc__ or "").strip()
        return cls(rule, family, documentation.partition("\n")[0], documentation, module.__name__)


@cache
def _registered(module: str, family: str) -> Registered:
    return Registered.from_module(import_module(module), family)
