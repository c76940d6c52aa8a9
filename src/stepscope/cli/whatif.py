"""``stepscope whatif``: how long a step would take if something were different."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepscope.cli.options import NoCache, PathList, Run, Span, Store
from stepscope.language import said, told

if TYPE_CHECKING:
    from stepscope.analyses.stepgraph import Prediction
    from stepscope.model.trace import Trace

Scale = Annotated[
    list[str] | None,
    typer.Option("--scale", metavar="WHAT=FACTOR", help="Multiply the time of something; may be repeated."),
]
Remove = Annotated[
    list[str] | None, typer.Option("--remove", metavar="WHAT", help="Take something away; may be repeated.")
]
Overlap = Annotated[
    list[str] | None,
    typer.Option("--overlap", metavar="comm|copy", help="Assume it overlaps fully with compute."),
]
Remedy = Annotated[
    str | None,
    typer.Option("--remedy", metavar="NAME", help="Carry out a remedy, such as torch-compile, for what it mends."),
]
Rank = Annotated[int | None, typer.Option("--rank", metavar="N", help="Predict for this rank.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def whatif(
    paths: PathList,
    scale: Scale = None,
    remove: Remove = None,
    overlap: Overlap = None,
    remedy: Remedy = None,
    rank: Rank = None,
    json: AsJson = False,
    run: Run = None,
    span: Span = None,
    no_cache: NoCache = False,
    store: Store = None,
) -> None:
    """Predict how long a step would take if something were faster, slower, gone or overlapped.

    Without a change, list what the step would save at most for each part of the job.
    """
    from stepscope.analyses.stepgraph import StepGraph
    from stepscope.analyses.stepgraph.whatif.predictions import predictions
    from stepscope.cli.opening import open_input
    from stepscope.model.errors import UserError
    from stepscope.rules.remedied import remedied

    words = {"scale": scale or [], "remove": remove or [], "overlap": overlap or []}
    if remedy is not None and any(words.values()):
        raise UserError("--remedy decides itself what changes", hint="give it without --scale, --remove and --overlap")
    with open_input(paths, cache=not no_cache, store=store, run=run, span=span) as trace:
        chosen = _rank(trace, rank)
        part = trace.rank(chosen)
        if remedy is None:
            changes = predictions(part, words)
        else:
            graph = StepGraph.of(part)
            changes = [(name, graph.predict(change)) for name, change in remedied(part, remedy)]
        if json:
            asked = words if remedy is None else {**words, "remedy": remedy}
            typer.echo(_json(trace, chosen, asked, changes))
        else:
            typer.echo(_text(chosen, len(trace.ranks), changes), nl=False)


def _rank(trace: Trace, wanted: int | None) -> int:
    from stepscope.analyses.communication.decisive_rank import decisive_rank
    from stepscope.reports.selection import chosen_ranks

    return decisive_rank(trace) if wanted is None else chosen_ranks(trace, [wanted])[0]


def _text(rank: int, ranks: int, changes: list[tuple[str, Prediction]]) -> str:
    from stepscope.cli.results import aligned
    from stepscope.model.amounts import duration, percent, plural
    from stepscope.reports.text import visible

    if not changes:
        return told(said("Nothing in this recording can be changed.")) + "\n"
    base = changes[0][1]
    of = said(" of {ranks}", ranks=ranks) if ranks > 1 else ""
    lines = [
        said(
            "Step now {base}: mean of {steps}, rank {rank}{of}.",
            base=duration(base.base_ns),
            steps=plural(len(base.steps), "step"),
            rank=rank,
            of=of,
        ),
        "",
    ]
    names = (said("change"), said("step then"), said("saved"), said("of the step"), said("more steps"))
    rows = [[told(name) for name in names]]
    for name, found in changes:
        share = percent(found.saved_ns / found.base_ns) if found.base_ns else ""
        rows.append(
            [visible(name), duration(found.new_ns), duration(found.saved_ns), share, percent(found.gain_ceiling)]
        )
    lines += aligned(rows, (False, True, True, True, True), least=10)
    if base.residual is None:
        lines += ["", said("No host is recorded: gaps between activities are assumed to stay as recorded.")]
    else:
        lines += [
            "",
            said("Unchanged, the graph misses the recorded steps by {residual}.", residual=percent(base.residual, 2)),
        ]
    return "\n".join(map(told, lines)) + "\n"


def _json(trace: Trace, rank: int, words: dict[str, Any], changes: list[tuple[str, Prediction]]) -> str:
    import json

    document: dict[str, Any] = {
        "schema": "stepscope.whatif/1",
        "source": [recording.source for recording in trace.recordings.values()],
        "rank": rank,
        **words,
        "changes": [
            {
                "change": name,
                "base_ns": found.base_ns,
                "new_ns": found.new_ns,
                "saved_ns": found.saved_ns,
                "gain_ceiling": found.gain_ceiling,
                "residual": found.residual,
                "steps": list(found.steps),
            }
            for name, found in changes
        ],
    }
    return json.dumps(document, indent=1)
