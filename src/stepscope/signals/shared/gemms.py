"""GEMMs, attention and convolutions: types, sizes, and use of tensor cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.needs import need_device
from stepscope.analyses.shared.peaks import MATRIX_CLASSES, operand_dtype
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.grids import Grids
from stepscope.model.events.op_inputs import input_texts, inputs_of
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.trace import Trace
from stepscope.signals.shared.operations import Ids
from stepscope.signals.shared.operator_attribution import describing_operators
from stepscope.signals.signal import Signals, signal

_SQL: Final = f"""
SELECT event, dur, coalesce(dtype, '') AS dtype,
    CASE tensor_core WHEN true THEN 1 WHEN false THEN 0 ELSE -1 END::TINYINT AS tensor_core,
    coalesce(flops, -1)::DOUBLE AS flops, coalesce(bytes, -1) AS bytes
FROM kernels WHERE kind = 'compute' AND (op_class IN {MATRIX_CLASSES} OR coalesce(tensor_core, false))
"""


@dataclass(frozen=True, slots=True, eq=False)
class Gemms:
    """The n kernels that could use tensor cores, ordered by operator.

    Attributes:
        event: int64[n].
        dur: int64[n].
        op: int64[n], operator; -1 if not known.
        kind: int8[n], position in `MATRIX_CLASSES` of the kernel's class; -1 for others.
        dtype: int8[n], position in `types` of the operands' type.
        types: As in `stepscope.model.dtypes`; empty for unknown.
        tensor_core: int8[n], 1 for kernels on tensor cores, 0 for others, -1 where the name does not tell.
        flops: float64[n], of the whole operator; -1 where unknown.
        bytes: int64[n], likewise.
        whole: int64[n], time of all such kernels of the operator.
        blocks: float64[n], of the launch; 0 if not recorded.
        name: int32[n], position in `names` of the kernel's name.
        names: As recorded.
        shape: int32[n], position in `shapes`; -1 if not recorded.
        shapes: Recorded shapes and strides of inputs, JSON; strides are empty if not recorded.
    """

    event: Ids
    dur: Ids
    op: Ids
    kind: NDArray[np.int8]
    dtype: NDArray[np.int8]
    types: tuple[str, ...]
    tensor_core: NDArray[np.int8]
    flops: NDArray[np.float64]
    bytes: Ids
    whole: Ids
    blocks: NDArray[np.float64]
    name: NDArray[np.int32]
    names: tuple[str, ...]
    shape: NDArray[np.int32]
    shapes: tuple[tuple[str, str], ...]

    def is_type(self, *names: str) -> NDArray[np.bool_]:
        """Whether the operands are of one of these types, bool[n]."""
        return np.isin(self.dtype, [code for code, name in enumerate(self.types) if name in names])

    def is_class(self, name: str) -> NDArray[np.bool_]:
        """Whether the kernels are of a class, bool[n]."""
        mine: NDArray[np.bool_] = self.kind == MATRIX_CLASSES.index(name)
        return mine

    def type_of(self, operators: Ids) -> list[str]:
        """Operand type of each operator's GEMM; empty if unknown."""
        at = np.minimum(np.searchsorted(self.op, operators), max(self.op.size - 1, 0))
        codes = self.dtype[at] if self.op.size else np.zeros(0, np.int8)
        found = self.op[at] == operators if self.op.size else np.zeros(operators.size, np.bool_)
        return [self.types[c] if known else "" for c, known in zip(codes.tolist(), found.tolist(), strict=True)]


@signal()
def gemms(s: Signals) -> Gemms:
    """Kernels that could use tensor cores: matrix multiplications, attention, convolutions."""
    need_device(s.trace)
    rows = s.trace.columns(_SQL)
    if not rows["event"].size:
        raise MissingInputError("no kernel of the recording is a matrix multiplication", hint="record the whole step")
    device = DeviceWork.of(s.trace)
    at = device.rows(s.trace, rows["event"])
    op = s.trace.once(describing_operators)[at]
    order = np.lexsort((rows["event"], op))
    at, op = at[order], op[order]
    column = {name: values[order] for name, values in rows.items()}
    # Kernels without operator are each on their own. Of an operator with several, the first one has the cost.
    _, operator = np.unique(np.where(op >= 0, op, -1 - column["event"]), return_inverse=True)
    for name in ("flops", "bytes"):
        most = np.full(operator.max() + 1, -1, column[name].dtype)
        np.maximum.at(most, operator, column[name])
        column[name] = most[operator]
    places = [MATRIX_CLASSES.index(word) if word in MATRIX_CLASSES else -1 for word in OP_CLASSES]
    name_ids, named = first_seen(device.name[at])
    names = s.trace.once(names_by_id)
    texts, text = _texts(s.trace, op)
    dtype, types = _types(column.pop("dtype"), [one["dtypes"] for one in texts], text)
    shapes, shape = _distinct([(one["shapes"], one["strides"]) for one in texts], text)
    return Gemms(
        **column,
        op=op,
        kind=np.array(places, np.int8)[device.op_class[at]],
        dtype=dtype,
        types=types,
        whole=np.bincount(operator, column["dur"]).astype(np.int64)[operator],
        blocks=Grids.of(s.trace).blocks[at],
        name=named,
        names=tuple(names[name_id] for name_id in name_ids.tolist()),
        shape=shape,
        shapes=shapes,
    )


def first_seen(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Distinct codes in order of first occurrence, and the position there of each, int32[n]."""
    distinct, first, which = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(order.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return distinct[order], place[which]


def _texts(trace: Trace, operators: Ids) -> tuple[list[dict[str, str]], NDArray[np.int32]]:
    """Distinct recorded inputs of operators, and the index of those of each operator."""
    rows = Spans(trace).rows(operators)
    codes, text = first_seen(np.where(rows >= 0, trace.once(inputs_of)[rows], -1))
    known = trace.once(input_texts)
    nothing = {"shapes": "", "dtypes": "", "strides": ""}
    return [known.get(code, nothing) for code in codes.tolist()], text


def _distinct(
    pairs: list[tuple[str, str]], of: NDArray[np.int32]
) -> tuple[tuple[tuple[str, str], ...], NDArray[np.int32]]:
    """Distinct shapes with strides, and the index of those of each row; -1 for rows without shapes."""
    found = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
    place = np.array([found[pair] if pair[0] else -1 for pair in pairs], np.int32)
    return tuple(found), place[of]


def _types(named: NDArray[Any], recorded: list[str], of: NDArray[np.int32]) -> tuple[NDArray[np.int8], tuple[str, ...]]:
    """The type in the kernel's name, else that of the operator's first tensor; 16 bits there outweigh fp32."""
    of_name, which = np.unique(named.astype(str), return_inverse=True)
    of_recorded = [operand_dtype(text) or "" for text in recorded]
    types = tuple(sorted({"", *of_recorded, *of_name.tolist()}))
    from_name = np.array([types.index(name) for name in of_name.tolist()], np.int8)[which]
    from_input = np.array([types.index(name) for name in of_recorded], np.int8)[of]
    narrow = [types.index(name) for name in types if name in ("fp16", "bf16")]
    wide = [types.index(name) for name in types if name in ("", "fp32")]
    untold = (from_name == types.index("")) | (np.isin(from_name, wide) & np.isin(from_input, narrow))
    return np.where(untold, from_input, from_name), types
