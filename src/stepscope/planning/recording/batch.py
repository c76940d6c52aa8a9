"""What a recording tells of its batch and of recomputation, as far as shapes and names are certain."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from stepscope.analyses.registry import analyses, table_of
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace

#: `4 x 4,096`: rows and tokens of each, which an embedding looks up.
_BATCH: Final = re.compile(r"^([\d,]+) x ([\d,]+)$")


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """What is certain of a recorded batch; None where the recording does not tell.

    Attributes:
        micro_batch: Sequences of a forward pass of one rank.
        seq: Tokens of each, on this rank.
        passes: Forward passes of a step.
        images: Whether it reads images rather than tokens.
        recomputes: Whether the backward pass computes activations again; None where operators are not recorded.
    """

    micro_batch: int | None = None
    seq: int | None = None
    passes: int | None = None
    images: bool = False
    recomputes: bool | None = None


def recorded_batch(trace: Trace) -> RecordedBatch:
    """The batch of the first rank that reads tokens, by the shapes of its largest embedding."""
    images = False
    for rank in trace.ranks:
        one = trace.rank(rank)
        read = None
        with suppress(MissingInputError):
            read = next((row for row in table_of(analyses()["throughput"], one).records()), None)
        images = images or (read is not None and read["unit"] == "images")
        found = _BATCH.match(read["shape"]) if read is not None and read["unit"] == "tokens" else None
        if read is None or found is None:
            continue
        rows, tokens = (int(number.replace(",", "")) for number in found.groups())
        passes = read["per_step"] / (rows * tokens)
        # Steps whose batches differ in size have no one size.
        even = abs(passes - round(passes)) < 1e-6 and passes >= 1
        return RecordedBatch(rows, tokens, round(passes) if even else None, recomputes=_recomputes(one))
    return RecordedBatch(images=images)


def _recomputes(one: Trace) -> bool | None:
    try:
        rows = table_of(analyses()["phases"], one).records()
    except MissingInputError:
        return None
    steps = {row["step"] for row in rows if row["phase"] == "recomputation" and row["device_ns"]}
    trained = {row["step"] for row in rows if row["phase"] == "backward" and (row["device_ns"] or row["host_ns"])}
    return bool(trained) and trained <= steps if trained else None
