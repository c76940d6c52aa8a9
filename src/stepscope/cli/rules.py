"""``stepscope rules``: the rules, how they decide, and what to do about their findings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.language import said, told

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show all about this rule, or this remedy.")]
New = Annotated[
    str | None, typer.Option("--new", metavar="NAME", help="Write a rule of this name, and its tests, to start from.")
]
Family = Annotated[str, typer.Option("--family", metavar="NAME", help="Family of the new rule.")]


def rules(
    name: Name = None,
    json: AsJson = False,
    new: New = None,
    family: Family = "host",
) -> None:
    """List the rules and remedies, or show the documentation of one."""
    from stepscope.language import spoken
    from stepscope.rules import documentation, remedies
    from stepscope.rules.registry import all_rules

    if new is not None:
        from stepscope.rules.scaffold import scaffold

        for path in scaffold(new, family, Path.cwd()):
            typer.echo(told(said("wrote {path}", path=path)), err=True)
        return
    known = all_rules()
    if name is not None:
        from stepscope.model.errors import UserError
        from stepscope.model.suggest import choose

        found = known.get(name.upper()) or next((r for r in known.values() if r.rule.name == name), None)
        if found is None and name in remedies.names():
            page = remedies.text(name) if json else remedies.text(name, spoken())
            typer.echo(_dumped({"name": name, "text": page}) if json else page.rstrip())
            return
        if found is None:
            names = (*known, *(rule.rule.name for rule in known.values()), *remedies.names())
            hint = choose(name, names, "`stepscope rules` lists them")
            raise UserError(said("no rule or remedy is called {name!r}", name=name), hint=hint)
        typer.echo(_dumped(documentation.as_json(found)) if json else documentation.page(found, spoken()).rstrip())
    elif json:
        typer.echo(_dumped([documentation.as_json(rule) for rule in known.values()]))
    else:
        previous = ""
        for registered in known.values():
            if registered.family != previous:
                typer.echo(f"{registered.family}" if not previous else f"\n{registered.family}")
                previous = registered.family
            typer.echo(f"  {registered.rule.code}  {registered.rule.name:<28}  {told(registered.title)}")
        typer.echo("\nremedies\n  " + "\n  ".join(remedies.names()))


def _dumped(value: object) -> str:
    import json

    return json.dumps(value, indent=1)
