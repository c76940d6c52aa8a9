"""``stepscope schema``: which tables and columns there are."""

from __future__ import annotations

from typing import Annotated

import typer

from stepscope.language import said

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="As Markdown: this is how docs/schema.md is made.")]


def schema(
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", help="Only this table.")] = None,
    json: AsJson = False,
    markdown: AsMarkdown = False,
) -> None:
    """List the canonical tables, which `query` reads, and the tables of reports, with all columns."""
    from stepscope.model.errors import UserError
    from stepscope.model.suggest import choose
    from stepscope.reports import catalogue

    groups = catalogue.groups()
    if table is not None:
        known = [one.name for tables in groups.values() for one in tables]
        groups = {group: tuple(one for one in tables if one.name == table) for group, tables in groups.items()}
        if not any(groups.values()):
            hint = choose(table, known, "list them all with `stepscope schema`")
            raise UserError(said("no table is called {table!r}", table=table), hint=hint)
    if json:
        typer.echo(catalogue.to_json(groups))
    elif markdown:
        typer.echo(catalogue.to_markdown(groups), nl=False)
    else:
        typer.echo(catalogue.to_text(groups), nl=False)
