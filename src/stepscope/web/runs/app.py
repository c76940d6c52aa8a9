"""The application for every recording below a folder: each run has a page of its own below `runs/`."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from stepscope.model.errors import StepscopeError, UserError
from stepscope.web.answers import failed, json_answer, progress_answer, unexpected
from stepscope.web.routes import bundle
from stepscope.web.runs.choices import choices
from stepscope.web.runs.chosen import Chosen
from stepscope.web.runs.opened import OpenedRuns
from stepscope.web.runs.opening import Opening


def runs_application(runs: OpenedRuns) -> Starlette:
    """The routes, for who guards them.

    | address | answer |
    |---|---|
    | `api/choices?of=CHOSEN` | what there is to choose from; `CHOSEN` is a run's address, or nothing |
    | `runs/CHOSEN/` | the page of one run, with all of its addresses below |
    | `` | the same page before a run is chosen; it goes on to the last one |
    """

    def offered(request: Request) -> Response:
        return json_answer(request, choices(runs, Chosen.of(request.query_params.get("of", ""))))

    return Starlette(
        routes=[
            Route("/api/choices", offered),
            Mount("/runs/{chosen}", _of_run(runs)),
            *bundle.routes_with_choices("api/choices"),
        ],
        exception_handlers={StepscopeError: failed, Exception: unexpected},
    )


def _of_run(runs: OpenedRuns) -> ASGIApp:
    """Answers below `runs/CHOSEN`: with the page at once, with the progress while the run is opened, and then as it."""
    page = Starlette(routes=list(bundle.routes_with_choices("../../api/choices")))

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        chosen = Chosen.of(scope["path_params"]["chosen"])
        path = scope["path"].removeprefix(scope["root_path"]).lstrip("/")
        asks = path.startswith("api/")
        # The page itself is asked for when it is loaded: what it shows is then what the files hold.
        anew = path in ("", "index.html")
        opening = await run_in_threadpool(runs.opening, chosen, anew) if chosen and (asks or anew) else None
        if not asks:
            await page(scope, receive, send)
            return
        app = await run_in_threadpool(_app, Request(scope), path, chosen, opening)
        await app(scope, receive, send)

    return answer


def _app(request: Request, path: str, chosen: Chosen | None, opening: Opening | None) -> ASGIApp:
    """What answers a question about a run."""
    if chosen is None or opening is None:
        return failed(request, UserError("there is no such run", hint="choose another one"))
    if path == "api/report" and opening.progress is not None:
        return progress_answer(request, opening.progress)
    try:
        return opening.shown(chosen.rank)
    except StepscopeError as error:
        return failed(request, error)
