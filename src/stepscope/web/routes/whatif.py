"""What a rank's steps would take if findings were mended, or parts of the job faster, gone or overlapped."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.web.answers import json_answer, progress_answer
from stepscope.web.asked import number
from stepscope.web.changeable import Asked
from stepscope.web.predicting import Predicting
from stepscope.web.viewing import Progress, Viewing


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/whatif?rank=N&finding=CODE&scale=WHAT=FACTOR&remove=WHAT&overlap=WHAT`; all but `rank` may be repeated."""
    predicting = Predicting(viewing.trace, viewing.options.rules)

    def whatif(request: Request) -> Response:
        given = request.query_params.getlist
        asked = Asked(given("finding"), given("scale"), given("remove"), given("overlap"))
        found = predicting.answer(number(request, "rank"), asked)
        return progress_answer(request, found) if isinstance(found, Progress) else json_answer(request, found)

    return [Route("/api/whatif", whatif)]
