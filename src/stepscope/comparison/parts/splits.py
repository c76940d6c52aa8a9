"""Compute of a side's steps by class and phase, by operator and by kernel; each split adds up to all compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.grouping import Groups, texts
from stepscope.analyses.steps.phase_names import PHASES
from stepscope.analyses.steps.phases import phase_of_work
from stepscope.comparison.parts.amounts import OF_WAITS, Amount
from stepscope.comparison.parts.charged import BUSY, ChargedWork
from stepscope.comparison.parts.durations import Durations
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.trace import Trace

T = TypeVar("T", Amount, Durations)

#: The operator of kernels that none launched, as far as the recording shows.
NO_OPERATOR = "(no operator)"


def by_class(trace: Trace, work: ChargedWork) -> dict[tuple[str, str | None], Amount]:
    """Compute by class of kernels and phase; the phase is None where the recording does not tell it."""
    chosen = _compute(work)
    classes = work.work.op_class[chosen].astype(np.int64)
    try:
        phase = trace.once(phase_of_work)[chosen]
    except MissingInputError:
        phase = np.full(chosen.size, -1)
    groups = Groups.by(classes, phase)
    keys = [
        (str(OP_CLASSES[one]), None if at < 0 else PHASES[at])
        for one, at in zip(classes[groups.first].tolist(), phase[groups.first].tolist(), strict=True)
    ]
    return dict(zip(keys, _amounts(work, chosen, groups), strict=True))


def operator_names(trace: Trace, work: ChargedWork, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """`name_id` of the operator that launched each of these activities; -1 where none did."""
    spans = Spans(trace)
    rows = spans.rows(work.work.op[chosen])
    return np.where(rows >= 0, spans.name[rows], -1).astype(np.int64)


def by_operator(trace: Trace, work: ChargedWork, part: str = BUSY[0]) -> dict[tuple[str], Amount]:
    """Time of a part by the innermost operator that launched it."""
    chosen = _compute(work, part)
    operator = operator_names(trace, work, chosen)
    groups = Groups.by(operator)
    names = texts(trace, operator[groups.first])
    return _merged([(name or NO_OPERATOR,) for name in names], _amounts(work, chosen, groups))


def by_shape(trace: Trace, work: ChargedWork) -> dict[tuple[str], Amount]:
    """Compute by the innermost operator that launched it and the shapes of its inputs, as one name."""
    chosen = _compute(work)
    operator = operator_names(trace, work, chosen)
    inputs = inputs_at(trace, Spans(trace).rows(work.work.op[chosen]))
    groups = Groups.by(operator, inputs.astype(np.int64))
    known = trace.once(input_texts)
    shapes = [known[row]["shapes"] if row in known else "" for row in inputs[groups.first].tolist()]
    names = texts(trace, operator[groups.first])
    keys = [(f"{name or NO_OPERATOR} {shape}".rstrip(),) for name, shape in zip(names, shapes, strict=True)]
    return _merged(keys, _amounts(work, chosen, groups))


def by_kernel(trace: Trace, work: ChargedWork, part: str = BUSY[0]) -> dict[tuple[str, str, str], Amount]:
    """Time of a part by the operator that launched it, the kernel and its class."""
    chosen = _compute(work, part)
    operator = operator_names(trace, work, chosen)
    groups = Groups.by(operator, work.work.name[chosen])
    at = chosen[groups.first]
    operators, kernels = texts(trace, operator[groups.first]), texts(trace, work.work.name[at])
    classes = [str(OP_CLASSES[one]) for one in work.work.op_class[at].tolist()]
    keys = [(o or NO_OPERATOR, k or "", c) for o, k, c in zip(operators, kernels, classes, strict=True)]
    amounts = _amounts(work, chosen, groups)
    if part != BUSY[0] and work.of_steps:
        amounts = [replace(one, squares=OF_WAITS**2 * one.squares) for one in amounts]
    return _merged(keys, amounts)


def renamed(amounts: Mapping[Any, T], names: Mapping[str, str]) -> dict[Any, T]:
    """Amounts with the names of the new side in their keys, by those of the base."""
    keys = [tuple(names.get(one, one) if isinstance(one, str) else one for one in key) for key in amounts]
    return _merged(keys, list(amounts.values()))


def _compute(work: ChargedWork, part: str = BUSY[0]) -> NDArray[np.int64]:
    """Positions of the activities of a part that lie within the steps."""
    return np.flatnonzero((work.part == BUSY.index(part)) & (work.inside | (work.ns > 0)))


def _amounts(work: ChargedWork, chosen: NDArray[np.int64], groups: Groups) -> list[Amount]:
    count = groups.sum(work.inside[chosen])
    return work.batches.amounts(groups.index, work.batch[chosen], work.ns[chosen], count)


def _merged(keys: list[Any], amounts: list[T]) -> dict[Any, T]:
    found: dict[Any, T] = {}
    for key, amount in zip(keys, amounts, strict=True):
        found[key] = found[key] + amount if key in found else amount
    return found
