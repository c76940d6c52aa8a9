"""``stepscope view``: the page in a browser."""

from __future__ import annotations

from pathlib import Path

import typer

from stepscope.cli.options import Device, Ignore, Memory, NoCache, PathList, Run, Select, Span, Store, Thresholds
from stepscope.cli.page.serving import AllowedHosts, Host, NoBrowser, Port, listening_at


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
    device: Device = None,
    memory: Memory = None,
    no_cache: NoCache = False,
    store: Store = None,
) -> None:
    """Open the report in a browser: findings, step budget, timeline and all tables.

    Prints its address, and serves the page until it is interrupted. The folder of `stepscope record --watch` shows the
    steps of the job as they come.
    """
    if len(paths) == 1 and _watched(paths[0], port, host, allowed_host, no_browser):
        return
    from stepscope.cli.opening import open_input, stated_device
    from stepscope.cli.speed import with_few_heaps
    from stepscope.reports.selection import ReportOptions
    from stepscope.rules import settings
    from stepscope.web.app import create_app

    rules = settings.load(Path.cwd()).selecting(select or (), ignore or ()).setting(set_ or ())
    stated = stated_device(device, memory)
    options = ReportOptions(rules=rules, strict=bool(ctx.obj))
    with_few_heaps()
    with (
        listening_at(host, port, allowed_host or (), not no_browser) as served,
        open_input(paths, cache=not no_cache, store=store, run=run, span=span, stated=stated, locked=True) as trace,
    ):
        served(lambda token, hosts: create_app(trace, token, options=options, hosts=hosts))


def _watched(path: Path, port: int, host: str, allowed_hosts: list[str] | None, no_browser: bool) -> bool:
    """Show a watched job; whether it is one."""
    from stepscope.record.watching.live import is_watched, job_now
    from stepscope.web.watched.app import create_app

    if not is_watched(path):
        return False
    folder = path.absolute()
    with listening_at(host, port, allowed_hosts or (), not no_browser) as served:
        served(lambda token, hosts: create_app(lambda: job_now(folder), token, hosts))
    return True
