"""The application: routes over an open trace, behind a guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.types import ASGIApp

from stepscope.language import speaking, spoken
from stepscope.model.errors import StepscopeError
from stepscope.web.answers import failed, unexpected
from stepscope.web.routes import (
    bundle,
    executions,
    flame,
    guide,
    history,
    live,
    query,
    report,
    snapshot,
    timeline,
    whatif,
)
from stepscope.web.security import LOCAL, Guard
from stepscope.web.speaking import Speaking
from stepscope.web.viewing import Viewing

if TYPE_CHECKING:
    from stepscope.model.trace import Trace
    from stepscope.reports.selection import ReportOptions

#: Each module has `routes(viewing)`; addresses are relative, so that the whole works below any prefix. One of which
#: a saved page has answers has `saved(viewing)`, which yields their addresses, the most important first.
TOPICS = (report, timeline, executions, flame, snapshot, history, live, guide, whatif, query, bundle)


def create_app(
    trace: Trace,
    token: str | None,
    *,
    options: ReportOptions | None = None,
    hosts: Sequence[str] | None = LOCAL,
    ancestors: Sequence[str] = (),
) -> ASGIApp:
    """The server's application for an open trace.

    Args:
        trace: The trace, opened with `Options(locked=True)`: it answers queries of whoever has the token.
        token: What a browser must present to read anything of the recording; None where another server guards it.
        options: What the report is to contain.
        hosts: Names of this server that requests may bear, without port; None for any.
        ancestors: Origins whose pages may show this one in a frame.
    """
    viewing = Viewing(trace, options)
    app = Speaking(Guard(application(viewing), token, hosts, ancestors))
    with speaking(app.settled or spoken()):
        viewing.start()
    return app


def application(viewing: Viewing) -> Starlette:
    """The routes alone, for who guards them in another way."""
    return Starlette(
        routes=[route for topic in TOPICS for route in topic.routes(viewing)],
        exception_handlers={StepscopeError: failed, Exception: unexpected},
    )
