"""Signals: named numbers about one rank, computed when first asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from stepscope.analyses.registry import analyses, table_of
from stepscope.language import said
from stepscope.model.errors import MissingInputError
from stepscope.model.table import Table
from stepscope.model.trace import Trace

T = TypeVar("T")

_REPORT = said("run again with --debug and report what it shows")


@dataclass(frozen=True, slots=True, eq=False)
class Signal(Generic[T]):
    """A named number, or a small set of facts, about the trace of one rank.

    Attributes:
        name: `family.name`, as thresholds, evidence and documentation call it.
        unit: `ns`, `bytes`, `share`, `count`, ...; empty for what is no number.
        description: What it is, in one sentence.
        compute: Works it out; raises `MissingInputError` if the recording lacks what it needs.
    """

    name: str
    unit: str
    description: str
    compute: Callable[[Signals], T]

    def __reduce__(self) -> tuple[Callable[[str, str], Signal[Any]], tuple[str, str]]:
        """Sent to another process by its place in the code, since it is known there, too, by its identity."""
        return _at, (self.compute.__module__, self.compute.__name__)


def _at(module: str, name: str) -> Signal[Any]:
    return cast("Signal[Any]", getattr(import_module(module), name))


def signal(unit: str = "") -> Callable[[Callable[[Signals], T]], Signal[T]]:
    """Make a signal of a function, whose docstring is the description.

    Its name is that of the module and the function, such as `host.dispatch_share`.
    """

    def made(compute: Callable[[Signals], T]) -> Signal[T]:
        module = compute.__module__.rpartition(".")[2]
        return Signal(f"{module}.{compute.__name__}", unit, inspect.getdoc(compute) or "", compute)

    return made


@dataclass(slots=True)
class Signals:
    """The signals of one rank: call it with a signal to get its value.

    Attributes:
        rank: The rank.
        given: Values that need not be computed. Tests of rules state these and nothing else.

    Signals are about the typical steps and nothing else; `whole` has them of all that was recorded.
    """

    rank: int = 0
    given: Mapping[Signal[Any], Any] = field(default_factory=dict)
    _trace: Trace | None = None
    _known: dict[Signal[Any], Any] = field(default_factory=dict)
    _whole: Signals | None = None

    @classmethod
    def of(cls, trace: Trace, whole: Trace | None = None) -> Signals:
        """The signals of a trace of one rank that is a part of `whole`."""
        around = None if whole is None or whole is trace else cls(trace.ranks[0], _trace=whole)
        return cls(trace.ranks[0], _trace=trace, _whole=around)

    @property
    def whole(self) -> Signals:
        """The same signals of all that was recorded: start-up, warm-up and edges as well."""
        return self if self._whole is None else self._whole

    @property
    def trace(self) -> Trace:
        """The trace, for signals that query it themselves.

        Raises:
            MissingInputError: There is none; only given values are known.
        """
        if self._trace is None:
            raise MissingInputError("the trace is not at hand", hint="state the signal's value")
        return self._trace

    def table(self, name: str) -> Table:
        """The result of an analysis, shared with the report.

        Raises:
            MissingInputError: The recording lacks what the analysis needs.
        """
        return table_of(analyses()[name], self.trace)

    def sealed(self, wanted: Iterable[Signal[Any]], *, strict: bool = False) -> Signals:
        """Values of these signals, or the reasons for their absence, detachable from the trace.

        Args:
            wanted: The signals.
            strict: Let unexpected errors through; else what fails is as good as missing.
        """
        values = Signals(self.rank, self.given)
        for one in wanted:
            try:
                values._known[one] = self(one)
            except MissingInputError as error:
                values._known[one] = error.without_traceback()
            except Exception as error:
                if strict:
                    raise
                values._known[one] = MissingInputError(
                    said("{name} failed ({kind})", name=one.name, kind=type(error).__name__), hint=_REPORT
                )
        return values

    def __call__(self, wanted: Signal[T]) -> T:
        """The value of a signal.

        Raises:
            MissingInputError: The recording lacks what the signal needs.
        """
        if wanted in self.given:
            return cast("T", self.given[wanted])
        if wanted not in self._known:
            try:
                self._known[wanted] = wanted.compute(self)
            except MissingInputError as error:
                self._known[wanted] = error.without_traceback()
        value = self._known[wanted]
        if isinstance(value, MissingInputError):
            raise value.without_traceback()  # raising adds to the traceback
        return cast("T", value)

    def maybe(self, wanted: Signal[T]) -> T | None:
        """The value of a signal, or None where the recording lacks what it needs."""
        try:
            return self(wanted)
        except MissingInputError:
            return None
