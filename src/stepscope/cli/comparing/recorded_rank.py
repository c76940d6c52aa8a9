"""The arguments that say which rank of which recording a command is about, defined once for several commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from stepscope.cli.options import NoCache, PathList, Run, Span, Store

if TYPE_CHECKING:
    from stepscope.comparison.summary import SideSummary

Rank = Annotated[int | None, typer.Option("--rank", metavar="N", help="Rank, if not the one that waits least.")]


@dataclass(frozen=True)
class RecordedRank:
    """A rank of a recording, as options give it."""

    paths: PathList
    rank: Rank = None
    run: Run = None
    span: Span = None
    no_cache: NoCache = False
    store: Store = None

    def summary(self) -> SideSummary:
        """Its figures; without a rank those of the one that waits least for the others."""
        from stepscope.cli.opening import open_input
        from stepscope.comparison.baseline import baseline_of
        from stepscope.comparison.side import chosen_rank
        from stepscope.reports.selection import chosen_ranks

        with open_input(
            self.paths, cache=not self.no_cache, store=self.store, run=self.run, span=self.span
        ) as trace:  # fmt: skip
            chosen = chosen_rank(trace, trace)[0] if self.rank is None else chosen_ranks(trace, [self.rank])[0]
            return baseline_of(trace, chosen)


def of_a_rank(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the arguments of `RecordedRank` after its own; it gets them as its parameter `recorded`."""
    defaults = {field.name: field.default for field in fields(RecordedRank)}

    def called(**given: Any) -> None:
        command(RecordedRank(**{name: given.pop(name) for name in defaults}), **given)

    hints = get_type_hints(command, include_extras=True) | get_type_hints(RecordedRank, include_extras=True)
    own = {name: one.default for name, one in signature(command).parameters.items() if name != "recorded"}
    parameters = [
        Parameter(
            name, Parameter.KEYWORD_ONLY, default=Parameter.empty if default is MISSING else default,
            annotation=hints[name],
        )
        for name, default in (own | defaults).items()
    ]  # fmt: skip
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    return called
