"""Serves a stored recording's timeline, without the report: `python -m bench.page.serve STORE` prints the address."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from stepscope.cli.speed import quick_process, quicken_process, with_few_heaps

#: A report in which nothing but the recording stands.
_REPORT = {
    "version": "bench", "source": [{"events": 1, "rank": 0}], "health": [], "ranks": [], "tables": {}, "findings": [],
    "page": {"title": "bench", "facts": [], "figures": [], "sections": []},
}  # fmt: skip


def main() -> None:
    """Serve until killed, in a process such as `stepscope view` has."""
    quicken_process()
    with quick_process():
        with_few_heaps()
        _serve(Path(sys.argv[1]))


def _serve(store: Path) -> None:
    # They import NumPy, which asks of the environment at once.
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from stepscope.store.opening import open_stores
    from stepscope.web.routes import bundle, timeline
    from stepscope.web.security import Guard
    from stepscope.web.server import address, listening, serve
    from stepscope.web.viewing import Viewing

    with open_stores({0: store}, locked=True) as trace, listening("127.0.0.1", 0) as listener:
        report = Route("/api/report", lambda _: JSONResponse(_REPORT))
        viewing = Viewing(trace)
        viewing.start()
        app = Starlette(routes=[report, *timeline.routes(viewing), *bundle.routes(viewing)])
        print(address(listener, "127.0.0.1", "token"), flush=True)
        serve(Guard(app, "token"), listener, lambda: None, threading.Event())


if __name__ == "__main__":
    main()
