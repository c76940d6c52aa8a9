"""``stepscope view``: the page in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli.options import Ignore, NoCache, PathList, Run, Select, Span, Store, Thresholds

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


def view(
    ctx: typer.Context,
    paths: PathList,
    port: Port = 0,
    host: Host = "127.0.0.1",
    allowed_host: AllowedHosts = None,
    no_browser: NoBrowser = False,
    select: Select = None,
    ignore: Ignore = None,
    set_: Thresholds = None,
    run: Run = None,
    span: Span = None,
    no_cache: NoCache = False,
    store: Store = None,
) -> None:
    """Open the report in a browser: findings, step budget, timeline and all tables.

    Prints its address, and serves the page until it is interrupted.
    """
    from stepscope.cli.opening import open_input
    from stepscope.reports.build import ReportOptions
    from stepscope.rules import settings
    from stepscope.web.app import create_app
    from stepscope.web.security import LOCAL, new_token
    from stepscope.web.server import address, listening, names, serve

    rules = settings.load(Path.cwd()).selecting(select or (), ignore or ()).setting(set_ or ())
    with (
        listening(host, port) as listener,
        open_input(paths, cache=not no_cache, store=store, run=run, span=span, locked=True) as trace,
    ):
        token = new_token()
        name = names(host)
        where = address(listener, name[0], token)
        app = create_app(
            trace,
            token,
            options=ReportOptions(rules=rules, strict=bool(ctx.obj)),
            hosts=[*LOCAL, *name, *(allowed_host or ())],
        )
        typer.echo(where)
        serve(app, listener, (lambda: None) if no_browser else lambda: _open(where))


def _open(where: str) -> None:
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(where,), daemon=True).start()
