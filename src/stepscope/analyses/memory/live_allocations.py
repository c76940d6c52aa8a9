"""What was allocated at one moment of a recording, and by whom."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.memory.memory_holders import operator_and_module
from stepscope.analyses.memory.memory_levels import DEVICE, memory_levels
from stepscope.analyses.shared.grouping import texts
from stepscope.analyses.shared.stacks import op_stacks
from stepscope.model.errors import MissingInputError
from stepscope.model.places import source_line
from stepscope.model.schema import TableSchema, ident, ns, size, text
from stepscope.model.table import Table
from stepscope.model.trace import Trace

LIVE_ALLOCATIONS: Final = TableSchema(
    "live_allocations",
    "Allocations that were live at a moment, the largest first.",
    (
        DEVICE,
        size("bytes", "Size."),
        text("operator", "Outermost operator around the allocation; null outside operators.", nullable=True),
        text("module", "Innermost module or annotation around it; null outside them.", nullable=True),
        text("line", "The user's line that it was made from; null if not recorded.", nullable=True),
        ns("made_ts", "When it was made."),
        ident("event", "Innermost event around it, a place in the timeline; null if unknown.", nullable=True),
    ),
)
#: A frame of PyTorch's own code.
_LIBRARY: Final = re.compile(r"(^|/)torch/")


def live_allocations(trace: Trace, device: int | None, ts: int) -> Table:
    """The allocations of a device (None for host memory) that were live at `ts`, in ns.

    Those made before the recording are not among them.

    Raises:
        MissingInputError: The recording has no allocations of the device, or no addresses, which tell which are freed.
    """
    levels = next((one for one in memory_levels(trace) if one.device == device), None)
    live = None if levels is None else levels.live(int(np.searchsorted(levels.ts, ts, side="right")) - 1)
    if levels is None:
        raise MissingInputError.of("allocations")
    if live is None:
        raise MissingInputError(
            "the recording has no addresses of allocations", hint="record with a later version of the framework"
        )
    live = live[np.argsort(-levels.bytes[live], kind="stable")]
    owner = levels.owner[live]
    operator, module = operator_and_module(trace, owner)
    rows: list[tuple[Any, ...]] = [
        (levels.device, *row)
        for row in zip(
            levels.bytes[live].tolist(), texts(trace, operator), texts(trace, module), _lines(trace, owner),
            levels.ts[live].tolist(), [one if one >= 0 else None for one in owner.tolist()],
            strict=True,
        )
    ]  # fmt: skip
    return Table.from_rows(LIVE_ALLOCATIONS, rows)


def _lines(trace: Trace, owners: NDArray[np.int64]) -> list[str | None]:
    """The innermost line outside PyTorch around each event, else the innermost of all."""
    known = np.unique(owners[owners >= 0])
    try:
        stacks = op_stacks(trace, known)
    except MissingInputError:
        return [None] * owners.size
    codes, place = np.unique(stacks.code, return_inverse=True)
    by_code = [None if stack is None else _line(stack) for stack in stacks.texts(codes)]
    of_event = dict(zip(known.tolist(), place.tolist(), strict=True))
    return [by_code[of_event[owner]] if owner in of_event else None for owner in owners.tolist()]


def _line(stack: str) -> str | None:
    frames = stack.split(";")
    frame = next((one for one in frames if not _LIBRARY.search(one)), frames[0])
    return source_line(frame) if frame else None
