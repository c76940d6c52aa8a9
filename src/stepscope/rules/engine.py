"""Run the rules over the ranks of a trace, price what they find, and rank it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from stepscope.analyses.shared.typical import typical_part
from stepscope.language import said, sentences
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change
from stepscope.model.process.footprint import give_back_rank
from stepscope.model.trace import Trace
from stepscope.rules.diagnosis import Diagnosis, Unasked
from stepscope.rules.fitting import fitting
from stepscope.rules.pricing import Priced, priced
from stepscope.rules.ranking import leading, ranked
from stepscope.rules.remaining import after_others
from stepscope.rules.rule import Draft, Registered
from stepscope.rules.settings import Settings
from stepscope.rules.together import cured_together
from stepscope.rules.withheld import withheld
from stepscope.rules.wording import without_steps
from stepscope.signals import Signal, Signals
from stepscope.signals.recording.accounting import Account, account
from stepscope.signals.recording.enough import verdict
from stepscope.signals.shared.job import step_ns, stepless
from stepscope.signals.shared.program import program

#: What a finding says of which nothing fits the program that could be done.
NO_REMEDY: Final = said("What to do about it does not follow from the recording.")


@dataclass(slots=True)
class Diagnosing:
    """A diagnosis in progress: ranks are examined one after another and released.

    Attributes:
        settings: Which rules run, and their thresholds.
        strict: Let unexpected errors of a rule through instead of noting them.
    """

    settings: Settings = field(default_factory=Settings)
    strict: bool = False
    _found: list[Priced] = field(default_factory=list)
    _sealed: dict[int, Signals] = field(default_factory=dict)
    _sealed_whole: dict[int, Signals] = field(default_factory=dict)
    _unasked: dict[tuple[str, str, str, bool], list[int]] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)

    @property
    def looks(self) -> int:
        """How many rules look at one rank."""
        return sum(one.rule.check is not None for one in self.settings.chosen())

    def look_at(self, trace: Trace, between: Callable[[], None] = lambda: None) -> None:
        """Run the rules that look at one rank, over the trace of one: most of them over its typical steps alone.

        Args:
            trace: The trace.
            between: Called before each rule.
        """
        signals = Signals.of(typical_part(trace), trace)
        rules, before = self.settings.chosen(), len(self._found)
        for registered in rules:
            check = registered.rule.check
            if check is None:
                continue
            between()
            if not self._withheld(registered, (signals.whole,), signals.rank):
                limits = self.settings.limits(registered)
                seen = signals.whole if registered.whole else signals
                for draft in self._drafts(registered, lambda c=check, s=seen, v=limits: c(s, v), signals.rank):  # type: ignore[misc]
                    self._keep(registered, draft, signals)
        mine = self._found[before:]
        lead = leading(mine, self.settings.least)
        after = after_others([mine[position] for position in lead], signals, self.settings.least)
        after = cured_together(after, signals, self.settings.least)
        for position, one in zip(lead, after, strict=True):
            self._found[before + position] = one
        for sealed, seen, whole in ((self._sealed, signals, False), (self._sealed_whole, signals.whole, True)):
            reads = (one for rule in rules if rule.whole == whole for one in rule.rule.reads)
            wanted: tuple[Signal[Any], ...] = (step_ns, stepless, verdict, program, account, *reads)
            sealed[signals.rank] = seen.sealed(wanted, strict=self.strict)

    def take(self, other: Diagnosing) -> None:
        """Add what another one has found on other ranks."""
        self._found += other._found
        self._sealed |= other._sealed
        self._sealed_whole |= other._sealed_whole
        self._asked |= other._asked
        for key, ranks in other._unasked.items():
            self._unasked.setdefault(key, []).extend(ranks)

    def changes(self, remedy: str | None = None) -> list[tuple[str, str, Change]]:
        """Rule, title and change of each finding that changes the steps and is no symptom of another one.

        Args:
            remedy: Name of a page on remedies: only what it mends; None for all.
        """
        lead = [self._found[position] for position in leading(self._found, self.settings.least)]
        return [
            (one.registered.rule.code, one.draft.title, one.draft.change)
            for one in sorted(lead, key=lambda one: -(one.cost_ns or 0))
            if one.draft.change is not None
            and (remedy is None or any(action.page == remedy for action in one.draft.actions))
        ]

    def finish(self) -> Diagnosis:
        """Run the rules that look at the whole job, and rank all findings."""
        for registered in self.settings.chosen():
            check = registered.rule.job_check
            if check is not None and not self._withheld(registered, self._sealed_whole.values(), None):
                limits = self.settings.limits(registered)
                seen = self._sealed_whole if registered.whole else self._sealed
                for draft in self._drafts(registered, lambda c=check, s=seen, v=limits: c(s, v), None):  # type: ignore[misc]
                    front = self._sealed[draft.ranks[0]] if draft.ranks else next(iter(self._sealed.values()))
                    self._keep(registered, draft, front)
        lengths = [signals.maybe(step_ns) for signals in self._sealed.values()]
        return Diagnosis(
            ranked(self._found, self.settings.least),
            tuple(Unasked(*key, tuple(ranks)) for key, ranks in self._unasked.items()),
            len(self._asked),
            max((length for length in lengths if length is not None), default=None),
            self._accounts(),
            len(self._sealed),
        )

    def _accounts(self) -> dict[int, Account]:
        """Composition of the step for the ranks with enough recorded."""
        found = {}
        for rank, signals in self._sealed.items():
            told, enough = signals.maybe(account), self._sealed_whole[rank].maybe(verdict)
            if told is not None and (enough is None or not enough.kind):
                found[rank] = told
        return found

    def _withheld(self, registered: Registered, ranks: Iterable[Signals], rank: int | None) -> bool:
        why = withheld(registered, self.settings, ranks)
        if why is not None:
            self._note(registered.rule.code, why.message, why.hint, False, rank)
        return why is not None

    def _drafts(self, registered: Registered, look: Callable[[], Iterable[Draft]], rank: int | None) -> list[Draft]:
        code = registered.rule.code
        try:
            drafts = list(look())
        except MissingInputError as error:
            self._note(code, error.message, error.hint, False, rank)
            return []
        except Exception as error:
            if self.strict:
                raise
            hint = said("run again with --debug and report what it shows")
            self._note(code, said("the rule failed ({kind})", kind=type(error).__name__), hint, True, rank)
            return []
        self._asked.add(code)
        return drafts

    def _keep(self, registered: Registered, draft: Draft, signals: Signals) -> None:
        """Price a draft, with the actions that fit the program."""
        fitted = _fitted(registered, draft, signals)
        # Advice on recording that the program can't follow is none.
        if not fitted.actions and registered.family == "recording":
            return
        one = priced(registered, fitted, signals, self.settings.least)
        if (
            draft.instead is not None
            and one.cost_ns is not None
            and one.cost_ns < self.settings.least * (one.step_ns or 0)
        ):
            one = priced(registered, _fitted(registered, draft.instead, signals), signals, self.settings.least)
        self._found.append(one)

    def _note(self, code: str, message: str, hint: str, failed: bool, rank: int | None) -> None:
        ranks = self._unasked.setdefault((code, message, hint, failed), [])
        ranks.extend(() if rank is None else (rank,))


def _fitted(registered: Registered, draft: Draft, signals: Signals) -> Draft:
    """A draft with the actions that fit the program, in words that fit a recording with or without steps."""
    draft = replace(draft, actions=fitting((*draft.actions, *registered.rule.elsewhere), signals.maybe(program)))
    if not draft.actions:
        draft = replace(draft, summary=sentences((draft.summary, NO_REMEDY)))
    if signals.maybe(stepless):
        draft = replace(draft, title=without_steps(draft.title), summary=without_steps(draft.summary))
    return draft


def diagnose(trace: Trace, settings: Settings | None = None, *, strict: bool = False) -> Diagnosis:
    """Diagnose a recorded job: what is slow, why, what to change, and the estimated saving."""
    diagnosing = Diagnosing(settings or Settings(), strict)
    for rank in trace.ranks:
        diagnosing.look_at(trace.rank(rank))
        if len(trace.ranks) > 1:
            give_back_rank()
    return diagnosing.finish()


def drafts_of(registered: Registered, signals: Signals, limits: Mapping[str, float] | None = None) -> list[Draft]:
    """Drafts of one rule for given signals, with default thresholds unless given."""
    if registered.rule.check is None:
        raise ValueError(said("{code} looks at all ranks together", code=registered.rule.code))
    known = Settings().limits(registered)
    return list(registered.rule.check(signals, {**known, **(limits or {})}))
