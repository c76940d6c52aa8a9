"""Times of one call on both sides: what compares where the two do other work, or were recorded in other ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from stepscope.analyses.host.operator_calls import operator_calls
from stepscope.analyses.shared.grouping import Groups, texts
from stepscope.analyses.shared.needs import has_device
from stepscope.comparison.noise.ratio import CONFIDENCE, MeasuredSums, ratio_of_measured
from stepscope.comparison.parts.ratios import ratio_columns, ratio_values
from stepscope.comparison.side import ComparedSide, within
from stepscope.model.errors import MissingInputError
from stepscope.model.schema import Column, TableSchema, ns, text
from stepscope.model.table import Table
from stepscope.model.trace import Trace

PER_CALL: Final = TableSchema(
    "times_per_call",
    "Operators and kernels that both sides call, by the time of one call, over the steps that are compared (of "
    "recordings without steps, over all): it compares where steps do not. What takes longest in all on the base first.",
    (
        text("kind", "operator or kernel."),
        text("name", "Its name; of an NPU's kernel what the device's library calls the operator."),
        text("shapes", "equal, if both sides call it with the same shapes of inputs, or differ; null if unknown.",
             nullable=True),
        Column("base_calls", "int64", "Calls of the base.", "count"),
        Column("new_calls", "int64", "Calls of the new one.", "count"),
        ns("base_ns", "Device time of one call of the base, inner operators included: the mean; null where none is "
           "recorded.", nullable=True),
        ns("new_ns", "The same of the new one.", nullable=True),
        *ratio_columns("base_ns", "new_ns", "of single calls"),
        ns("base_host_ns", "Host time of one call of the base, inner operators included; null for kernels.",
           nullable=True),
        ns("new_host_ns", "The same of the new one.", nullable=True),
    ),
)  # fmt: skip
_BRACKETS: Final = re.compile(r"\[([^][]*)\]")
Kind = Literal["operator", "kernel"]
_KERNELS: Final = """
SELECT coalesce(k.op_type, k.name) AS name, count(*) AS calls, sum(coalesce(k.dur, 0)) AS total,
    sum(coalesce(k.dur, 0)::DOUBLE ** 2) AS squares
FROM kernels k WHERE k.kind = 'compute' GROUP BY 1
"""
_SHAPES: Final = """
SELECT n.name, list(DISTINCT i.shapes) AS shapes
FROM spans s JOIN names n USING (name_id) JOIN op_inputs i ON i.event = s.id
WHERE s.category = 'op' AND i.shapes IS NOT NULL GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class SideCalls:
    """Calls of an operator or a kernel on one side.

    Attributes:
        device: Device time of its calls; None where no device is recorded.
        host: Host time of the same; None for kernels.
        shapes: The shapes of inputs that occur; empty if unknown.
    """

    device: MeasuredSums | None
    host: MeasuredSums | None = None
    shapes: frozenset[str] = frozenset()

    @property
    def calls(self) -> int:
        """How many there are."""
        either = self.device or self.host
        return either.count if either else 0


def call_times(side: ComparedSide) -> dict[tuple[Kind, str], SideCalls]:
    """Times of calls within a side's steps; of a recording without steps, of all.

    Raises:
        MissingInputError: It has neither operators nor kernels.
    """
    trace = within(side)
    found: dict[tuple[Kind, str], SideCalls] = {("operator", name): one for name, one in _operators(trace).items()}
    if trace.once(has_device):
        for row in trace.rows(_KERNELS):
            device = MeasuredSums(row["calls"], int(row["total"]), float(row["squares"]))
            found["kernel", row["name"] or ""] = SideCalls(device)
    if not found:
        raise MissingInputError.of("device")
    return found


def per_call_table(
    base: Mapping[tuple[Kind, str], SideCalls],
    new: Mapping[tuple[Kind, str], SideCalls],
    names: Mapping[str, str],
    confidence: float = CONFIDENCE,
) -> Table:
    """Compare the times of one call.

    Args:
        base: Calls of the base by kind and name.
        new: Calls of the new side.
        names: Names of the new side by those of the base.
        confidence: Chance that an interval holds the true ratio.
    """
    pairs = [((kind, name), one, new.get((kind, names.get(name, name)))) for (kind, name), one in base.items()]
    kept = [(key, one, other) for key, one, other in pairs if other is not None]
    kept.sort(key=lambda pair: (pair[0][0] != "operator", -_weight(pair[1]), pair[0]))
    return Table.from_rows(PER_CALL, [_row(*pair, confidence) for pair in kept])


def _operators(trace: Trace) -> dict[str, SideCalls]:
    try:
        calls = trace.once(operator_calls)
    except MissingInputError:
        return {}
    groups = Groups.by(calls.name)
    shapes = {row["name"]: frozenset(map(_dimensions, row["shapes"])) for row in trace.rows(_SHAPES)}
    measured = [
        [MeasuredSums(*row) for row in zip(groups.count.tolist(), groups.sum(values).tolist(),
                                       np.bincount(groups.index, values.astype(np.float64) ** 2).tolist(), strict=True)]
        for values in (calls.total_device_ns, calls.dur)
    ]  # fmt: skip
    return {
        name or "": SideCalls(device if calls.device else None, host, shapes.get(name, frozenset()))
        for name, device, host in zip(texts(trace, calls.name[groups.first]), *measured, strict=True)
    }


def _dimensions(shapes: str) -> str:
    """Shapes as one text however they are written: `[[2, 8], []]` of PyTorch is `2,8;` of Ascend."""
    inputs = _BRACKETS.findall(shapes) if "[" in shapes else shapes.split(";")
    return ";".join(filter(None, (re.sub(r"[^0-9,]", "", one) for one in inputs)))


def _row(key: tuple[Kind, str], base: SideCalls, new: SideCalls, confidence: float) -> tuple[object, ...]:
    device = base.device, new.device
    found = None
    if device[0] and device[1] and device[0].total and device[1].total:
        found = ratio_of_measured(device[0], device[1], confidence)
    shapes = ("equal" if base.shapes == new.shapes else "differ") if base.shapes and new.shapes else None
    means = (_mean(base.device), _mean(new.device))
    return (*key, shapes, base.calls, new.calls, *means, *ratio_values(found), _mean(base.host), _mean(new.host))


def _mean(one: MeasuredSums | None) -> int | None:
    return None if one is None or not one.count else round(one.total / one.count)


def _weight(one: SideCalls) -> int:
    return one.device.total if one.device and one.device.total else one.host.total if one.host else 0
