"""What a request asks for: parameters of its address, as numbers and ranks, or a sentence on what is wrong."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace


class BadRequestError(UserError):
    """A request that no page of stepscope sends: answered with status 400."""


class BusyError(UserError):
    """Too much is asked at a time: answered with status 503."""


async def posted(request: Request, most: int) -> Any:
    """The JSON that a request brings; what is longer than `most` bytes is not read.

    Raises:
        BadRequestError: It is longer, or no JSON.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise BadRequestError(said("a request may bring {most:,} bytes", most=most), hint="ask for less at a time")
    try:
        return json.loads(bytes(body))
    except (ValueError, RecursionError) as error:
        raise BadRequestError(
            "the request is no JSON", hint=said("send {example}", example='{"sql": "SELECT ..."}')
        ) from error


def number(request: Request, name: str, default: int | None = None) -> int | None:
    """A whole number, as decimal digits: times in ns are beyond what a browser's numbers hold exactly.

    Raises:
        UserError: It is no whole number of 64 bits.
    """
    given = request.query_params.get(name)
    if given is None or given == "":
        return default
    try:
        found = int(given)
    except ValueError:
        found = 1 << 63
    if not -(1 << 63) <= found < 1 << 63:
        raise UserError(said("{name} is no whole number: {given}", name=name, given=given[:40]))
    return found


def one_rank(request: Request, trace: Trace) -> Trace:
    """The trace of the rank that is asked for, else of the first one.

    Raises:
        UserError: There is no such rank.
    """
    rank = number(request, "rank", trace.ranks[0])
    if rank not in trace.ranks:
        raise UserError(said("the recording has no rank {rank}", rank=rank))
    return trace.rank(rank)
