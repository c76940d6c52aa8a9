"""Answers of the server: JSON and bytes with an ETag, and errors as one sentence."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from stepscope.language import said, told
from stepscope.model.errors import StepscopeError
from stepscope.model.schema import Column
from stepscope.web.asked import BadRequestError, BusyError
from stepscope.web.making import Progress
from stepscope.web.speaking import in_words

JSON: Final = "application/json"
#: A browser may keep what it has, and asks each time whether it is still right.
_KEEP = "private, no-cache"


def columns_of(columns: Iterable[Column]) -> list[dict[str, str]]:
    """Columns as the page reads them."""
    return [{"name": c.name, "type": c.type, "unit": c.unit, "description": c.description} for c in columns]


def json_answer(request: Request, values: Any, status: int = 200) -> Response:
    """Values as JSON."""
    return bytes_answer(request, encoded(values), JSON, status)


def encoded(values: Any) -> bytes:
    """Values as JSON, texts in the language that is spoken; infinities and NaN, which JSON does not know, as null."""
    values = in_words(values)
    try:
        body = json.dumps(values, separators=(",", ":"), allow_nan=False, default=str)
    except ValueError:
        body = json.dumps(_finite(values), separators=(",", ":"), allow_nan=False, default=str)
    return body.encode("ascii")


def progress_answer(request: Request, progress: Progress) -> Response:
    """How far something is that is being made, with status 202."""
    return json_answer(request, {"progress": asdict(progress)}, 202)


def bytes_answer(request: Request, body: bytes, media_type: str, status: int = 200) -> Response:
    """Bytes, or 304 without them where the browser has them already."""
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": _KEEP}
    if status == 200 and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers, media_type=media_type)
    return Response(body, status, headers, media_type)


def failed(_: Request, error: Exception) -> Response:
    """An error that is meant for users, as its sentence."""
    assert isinstance(error, StepscopeError)
    status = 400 if isinstance(error, BadRequestError) else 503 if isinstance(error, BusyError) else 422
    return JSONResponse({"error": told(error.message), "hint": told(error.hint)}, status)


def unexpected(_: Request, error: Exception) -> Response:
    """An error that is a defect of this program: its kind, and no more."""
    text = said("an unexpected error occurred ({kind})", kind=type(error).__name__)
    return JSONResponse({"error": told(text), "hint": ""}, 500)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, (list, tuple)) else value
