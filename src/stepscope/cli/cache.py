"""``stepscope cache``: list or remove stored recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli.command import Command, CommandGroup
from stepscope.language import said, told

cache = typer.Typer(cls=CommandGroup, help="List or remove the stored copies of recordings.", no_args_is_help=False)

Store = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder they are in, the user's cache if not given.")
]


@cache.command("ls", cls=Command)
def ls(store: Store = None) -> None:
    """List the stored recordings, the least recently used first."""
    from datetime import datetime, timezone

    from stepscope.model.amounts import plural
    from stepscope.reports.text import visible
    from stepscope.reports.units import quantity
    from stepscope.store.cache import Cache

    found = Cache(store)
    entries = found.entries()
    for entry in entries:
        used = datetime.fromtimestamp(entry.used, timezone.utc).astimezone()
        typer.echo(f"{quantity(entry.size, 'bytes'):>9}  {used:%Y-%m-%d %H:%M}  {visible(entry.source)}")
    total = quantity(sum(entry.size for entry in entries), "bytes")
    typer.echo(
        told(
            said(
                "{recordings}, {total} in {root}",
                recordings=plural(len(entries), "recording"),
                total=total,
                root=found.root,
            )
        )
    )


@cache.command("clear", cls=Command)
def clear(store: Store = None) -> None:
    """Remove all stored recordings, but those that are in use."""
    from stepscope.model.amounts import plural
    from stepscope.model.errors import StepscopeError
    from stepscope.reports.units import quantity
    from stepscope.store.cache import Cache

    found = Cache(store)
    done = found.clear()
    typer.echo(
        told(
            said(
                "removed {recordings}, {size}, from {root}",
                recordings=plural(done.removed, "recording"),
                size=quantity(done.size, "bytes"),
                root=found.root,
            )
        )
    )
    if done.used:
        typer.echo(
            told(
                said(
                    "{recordings} in use stay{en_s}",
                    recordings=plural(done.used, "recording"),
                    en_s="s" if done.used == 1 else "",
                )
            )
        )
    if done.refused:
        raise StepscopeError(
            said(
                "{recordings} in {root} can't be removed", recordings=plural(done.refused, "recording"), root=found.root
            ),
            hint="check its permissions",
        )
