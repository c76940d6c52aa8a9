"""What columns of the events of complete steps have in common."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times

_C = TypeVar("_C", bound="StepColumns")


class StepColumns:
    """Columns of n events as fields of a dataclass, and as the last field the steps that they are of."""

    __slots__ = ()

    def where(self: _C, chosen: NDArray[np.bool_]) -> _C:
        """Some of the events."""
        arrays: dict[str, Any] = {one.name: getattr(self, one.name)[chosen] for one in fields(self)[:-1]}  # type: ignore[arg-type]
        return replace(self, **arrays)  # type: ignore[type-var]


def longest(event: NDArray[np.int64], dur: Times) -> NDArray[np.int64]:
    """The 20 longest events, the longest first."""
    return event[np.argsort(-dur, kind="stable")[:20]]
