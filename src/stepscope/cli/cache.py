"""``stepscope cache``: list or remove stored recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

cache = typer.Typer(help="List or remove the stored copies of recordings.", no_args_is_help=False)

Store = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder they are in, the user's cache if not given.")
]


@cache.command("ls")
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
    typer.echo(f"{plural(len(entries), 'recording')}, {total} in {found.root}")


@cache.command("clear")
def clear(store: Store = None) -> None:
    """Remove all stored recordings, but those that are in use."""
    from stepscope.model.amounts import plural
    from stepscope.model.errors import StepscopeError
    from stepscope.reports.units import quantity
    from stepscope.store.cache import Cache

    found = Cache(store)
    done = found.clear()
    typer.echo(f"removed {plural(done.removed, 'recording')}, {quantity(done.size, 'bytes')}, from {found.root}")
    if done.used:
        typer.echo(f"{plural(done.used, 'recording')} in use stay{'s' if done.used == 1 else ''}")
    if done.refused:
        raise StepscopeError(
            f"{plural(done.refused, 'recording')} in {found.root} can't be removed", hint="check its permissions"
        )
