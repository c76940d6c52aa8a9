"""Which recordings of an input are analysed: one run, and one span of each of its ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.owners import owners
from stepscope.ingest.whose.runs import runs
from stepscope.ingest.whose.spans import RankSpans, spans
from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.place import Place
from stepscope.model.suggest import choose as suggest


@dataclass(frozen=True, slots=True)
class Choice:
    """What is analysed of an input.

    Attributes:
        ranks: Recordings of each rank: the one that its tables are made of, and those that add what it lacks.
        places: Every recording's run, rank and span.
        runs: The runs of the input, in order of names; one, "", if its ranks don't clash.
        run: The run that is analysed.
        span: The span that is analysed, from 1.
        most: The most spans that a rank of the run has.
        of_run: The run's recordings.
    """

    ranks: dict[int, tuple[FoundRecordings, ...]]
    places: tuple[Place, ...]
    runs: tuple[str, ...]
    run: str
    span: int
    most: int
    of_run: RankSpans


def choose(found: Sequence[FoundRecordings], run: str | None = None, span: int | None = None) -> Choice:
    """Choose a run and a span.

    Args:
        found: The recordings, in the order of the input.
        run: The run asked for; None for the one that was recorded last.
        span: The span asked for; None for the one that most ranks have, the last of those.

    Raises:
        UserError: There is no such run or span.
    """
    owned = owners(found)
    divided = runs(found, owned)
    names = tuple(sorted(set(divided)))
    all_ = {name: spans(found, owned, [p for p, one in enumerate(divided) if one == name]) for name in names}
    chosen = _chosen_run(found, divided, names, run)
    of_run = all_[chosen]
    number, most = _chosen_span(of_run, span)
    analysed = _analysed(of_run, number)
    positions = {position for members in analysed.values() for position in members}
    places = [
        Place(found[position].recording, name, rank, index, position in positions)
        for name, one in all_.items()
        for kind in (one.ranks, one.contents)
        for rank, group in kind.items()
        for index, position in enumerate(group, 1)
    ]
    ranks = {rank: tuple(found[position] for position in members) for rank, members in sorted(analysed.items())}
    return Choice(ranks, tuple(places), names, chosen, number, most, of_run)


def _chosen_run(
    found: Sequence[FoundRecordings], divided: Sequence[str], names: tuple[str, ...], wanted: str | None
) -> str:
    if wanted is not None:
        given = wanted.rstrip("/")
        if given not in names or not given:
            raise UserError(said("the input has no run {wanted!r}", wanted=wanted), hint=_hint(given, names))
        return given
    if len(names) == 1:
        return names[0]
    last = dict.fromkeys(names, 0)
    for one, name in zip(found, divided, strict=True):
        between = one.between()
        last[name] = max(last[name], between[1] if between else 0)
    return max(names, key=lambda name: (last[name], name))


def _hint(wanted: str, names: tuple[str, ...]) -> str:
    return said("it is one run") if names == ("",) else suggest(wanted, names)


def _chosen_span(of_run: RankSpans, wanted: int | None) -> tuple[int, int]:
    having = Counter(index for group in of_run.ranks.values() for index in range(1, len(group) + 1))
    most = max(having, default=1)
    if wanted is not None:
        if not 1 <= wanted <= most:
            raise UserError(
                said("the input has no span {wanted}", wanted=wanted),
                hint="each rank was recorded once" if most == 1 else said("it has spans 1 to {most}", most=most),
            )
        return wanted, most
    return max(having, key=lambda index: (having[index], index), default=1), most


def _analysed(of_run: RankSpans, span: int) -> dict[int, list[int]]:
    """Positions of the recordings of each rank: its span, and its last memory snapshot."""
    chosen = {rank: [group[span - 1]] for rank, group in of_run.ranks.items() if len(group) >= span}
    for rank, group in of_run.contents.items():
        if rank in chosen or rank not in of_run.ranks:
            chosen.setdefault(rank, []).append(group[-1])
    return chosen
