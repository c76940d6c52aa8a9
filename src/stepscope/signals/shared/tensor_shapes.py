"""Shapes of the tensors among an operator's recorded inputs."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=65_536)
def tensors(shapes: str) -> tuple[tuple[int, ...], ...]:
    """Shapes of all tensors among recorded inputs, including those in lists; none if they can't be parsed."""
    try:
        listed = json.loads(shapes)
    except (ValueError, RecursionError):
        return ()
    return tuple(_tensors(listed)) if isinstance(listed, list) else ()


def _tensors(items: list[Any]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for item in items:
        if not isinstance(item, list) or not item:
            continue
        if all(isinstance(dim, int) and not isinstance(dim, bool) for dim in item):
            found.append(tuple(item))
        elif all(isinstance(part, list) and all(isinstance(dim, int) for dim in part) for part in item):
            found.extend(tuple(part) for part in item)
    return found
