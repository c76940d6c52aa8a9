"""Serve a page until the command is interrupted: its options, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from starlette.types import ASGIApp

#: Makes the application, given the token and the names of this server.
MakeApp = Callable[[str, Sequence[str]], "ASGIApp"]

Port = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
]
Host = Annotated[
    str,
    typer.Option(
        "--host", metavar="ADDRESS", help="Address to listen on: `0.0.0.0` lets other machines in who have the token."
    ),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host", metavar="NAME", help="Answer under this host name too, as a proxy in front asks by."
    ),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]


@contextmanager
def listening_at(
    host: str, port: int, allowed_hosts: Sequence[str], browser: bool
) -> Iterator[Callable[[MakeApp], None]]:
    """Listen, before anything is read; what it gives serves an application, and prints its address."""
    from stepscope.web.security import LOCAL, new_token
    from stepscope.web.server import address, listening, names, serve

    with listening(host, port) as listener:

        def served(make: MakeApp) -> None:
            token, name = new_token(), names(host)
            where = address(listener, name[0], token)
            app = make(token, [*LOCAL, *name, *allowed_hosts])
            typer.echo(where)
            serve(app, listener, (lambda: _open(where)) if browser else lambda: None)

        yield served


def _open(where: str) -> None:
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(where,), daemon=True).start()
