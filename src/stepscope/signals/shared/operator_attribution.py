"""Attribute each kernel to the framework operator that describes it, skipping library wrappers.

Recorders show calls of a vendor's library as operators too (`aclnnMm` inside `aten::mm`). They have no inputs of their
own; the shapes are recorded with the framework's operator around them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.categories import CATEGORIES
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.trace import Trace
from stepscope.signals.shared.roles import OTHER, role_of_operator

_OP: Final = CATEGORIES.index("op")


def describing_operators(trace: Trace) -> NDArray[np.int64]:
    """The operator that describes each activity of `DeviceWork`, else the one that launched it; -1 where unknown.

    Ask for it with `Trace.once`. Two calls up are searched, since the library's call may lie in one of the vendor's
    own operators.
    """
    spans, operators = Spans(trace), DeviceWork.of(trace).op
    names = trace.once(names_by_id)
    known = np.zeros(max(names, default=-1) + 2, np.bool_)
    known[[name_id for name_id, name in names.items() if role_of_operator(name) != OTHER]] = True
    found: NDArray[np.int64] = operators.copy()
    rows = spans.rows(operators)
    left = np.flatnonzero((rows >= 0) & ~known[spans.name[rows]])
    around = rows[left]
    for _ in range(2):
        around = spans.around[around]
        inside = (around >= 0) & (spans.category[around] == _OP)
        describes = inside & known[spans.name[around]]
        found[left[describes]] = spans.id[around[describes]]
        going = inside & ~describes
        left, around = left[going], around[going]
    return found
