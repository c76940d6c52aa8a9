"""Matrix products and convolutions: their types, their sizes, and whether matrix units do them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.analyses.needs import need_device
from stepscope.analyses.peaks import MATRIX_CLASSES, operand_dtype
from stepscope.model.errors import MissingInputError
from stepscope.signals.signal import Signals, signal
from stepscope.signals.telling import TELLING_SQL, telling
from stepscope.signals.work import Ids, tensors

_SQL: Final = f"""
WITH {TELLING_SQL}
SELECT k.event, k.dur, coalesce(t.told, k.op, -1) AS op, k.op_class, coalesce(k.dtype, '') AS dtype,
    CASE k.tensor_core WHEN true THEN 1 WHEN false THEN 0 ELSE -1 END::TINYINT AS tensor_core,
    k.name, coalesce(k.grid[1]::DOUBLE * k.grid[2] * k.grid[3], 0)::DOUBLE AS blocks,
    coalesce(k.flops, -1)::DOUBLE AS flops, coalesce(k.bytes, -1) AS bytes, i.dtypes, i.shapes, i.strides
FROM kernels k LEFT JOIN telling t ON t.op = k.op LEFT JOIN op_inputs i ON i.event = coalesce(t.told, k.op)
WHERE k.kind = 'compute' AND (k.op_class IN {MATRIX_CLASSES} OR coalesce(k.tensor_core, false)) ORDER BY op, k.event
"""


@dataclass(frozen=True, slots=True)
class Dimensions:
    """`batch` products of m x k by k x n."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def flops(self) -> int:
        """A multiplication and an addition per inner term."""
        return 2 * self.batch * self.m * self.n * self.k


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The n kernels that matrix units could do, ordered by operator.

    Attributes:
        event: int64[n].
        dur: int64[n].
        op: int64[n], operator; -1 if not known.
        kind: int8[n], position in `MATRIX_CLASSES` of the kernel's class; -1 for others.
        dtype: int8[n], position in `types` of the operands' type.
        types: As in `stepscope.model.dtypes`; empty for unknown.
        tensor_core: int8[n], 1 for kernels on matrix units, 0 for others, -1 where the name does not tell.
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
        """Operand type of each operator's product; empty if unknown."""
        at = np.minimum(np.searchsorted(self.op, operators), max(self.op.size - 1, 0))
        codes = self.dtype[at] if self.op.size else np.zeros(0, np.int8)
        found = self.op[at] == operators if self.op.size else np.zeros(operators.size, np.bool_)
        return [self.types[c] if known else "" for c, known in zip(codes.tolist(), found.tolist(), strict=True)]


@signal()
def products(s: Signals) -> Products:
    """Kernels that matrix units could do: products, attention, convolutions."""
    need_device(s.trace)
    rows = s.trace.sql(_SQL, telling(s.trace))
    if not rows.num_rows:
        raise MissingInputError("no kernel of the recording is a matrix product", hint="record the whole step")
    column = {name: rows[name].to_numpy() for name in ("event", "dur", "op", "tensor_core", "flops", "bytes", "blocks")}
    # Kernels without operator are each on their own. Of an operator with several, the first one has the cost.
    _, operator = np.unique(np.where(column["op"] >= 0, column["op"], -1 - column["event"]), return_inverse=True)
    for name in ("flops", "bytes"):
        most = np.full(operator.max() + 1, -1, column[name].dtype)
        np.maximum.at(most, operator, column[name])
        column[name] = most[operator]
    column["whole"] = np.bincount(operator, column["dur"]).astype(np.int64)[operator]
    classes = rows["op_class"].combine_chunks().dictionary_encode()
    places = [MATRIX_CLASSES.index(c) if c in MATRIX_CLASSES else -1 for c in classes.dictionary.to_pylist()]
    kind = np.array(places, np.int8)[classes.indices.to_numpy()]
    names = rows["name"].combine_chunks().dictionary_encode()
    dtype, types = _types(rows)
    shapes = pa.StructArray.from_arrays(
        [rows[name].combine_chunks().fill_null("") for name in ("shapes", "strides")], ["shapes", "strides"]
    )
    texts, shape = _distinct(shapes)
    return Products(
        **column,
        kind=kind,
        dtype=dtype,
        types=types,
        name=names.indices.to_numpy(),
        names=tuple(names.dictionary.to_pylist()),
        shape=shape,
        shapes=tuple((text["shapes"], text["strides"]) for text in texts),
    )


def _distinct(values: pa.Array) -> tuple[list[Any], NDArray[np.int32]]:
    """Different values, and which of them each row has; -1 for rows without shapes."""
    left, right = (values.field(i).dictionary_encode() for i in range(2))
    key = left.indices.to_numpy().astype(np.int64) * (len(right.dictionary) + 1) + right.indices.to_numpy()
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    texts = [values[int(i)].as_py() for i in first]
    blank = np.array([not text["shapes"] for text in texts], np.bool_)
    return texts, np.where(blank[which], -1, which).astype(np.int32)


def _types(rows: pa.Table) -> tuple[NDArray[np.int8], tuple[str, ...]]:
    """The type in the kernel's name, else that of the operator's first tensor; 16 bits there are not fp32 in a name."""
    named = rows["dtype"].combine_chunks().dictionary_encode()
    recorded = rows["dtypes"].combine_chunks().fill_null("").dictionary_encode()
    of_recorded = [operand_dtype(text) or "" for text in recorded.dictionary.to_pylist()]
    of_name = named.dictionary.to_pylist()
    types = tuple(sorted({"", *of_recorded, *of_name}))
    from_name = np.array([types.index(name) for name in of_name], np.int8)[named.indices.to_numpy()]
    from_input = np.array([types.index(name) for name in of_recorded], np.int8)[recorded.indices.to_numpy()]
    narrow = [types.index(name) for name in types if name in ("fp16", "bf16")]
    wide = [types.index(name) for name in types if name in ("", "fp32")]
    untold = (from_name == types.index("")) | (np.isin(from_name, wide) & np.isin(from_input, narrow))
    return np.where(untold, from_input, from_name), types


@lru_cache(maxsize=65_536)
def dimensions(shapes: str) -> Dimensions | None:
    """What a product multiplies, from the recorded shapes of its inputs; None if they are no product's."""
    found = [dims for dims in tensors(shapes) if len(dims) >= 2]
    # The factors come last: before them stands what is added, behind them at most what is written to.
    for left, right in pairwise(found):
        if left[-1] == right[-2] and left[:-2] == right[:-2]:
            return Dimensions(math.prod(left[:-2]), left[-2], right[-1], left[-1])
    for left, right in pairwise(found):
        if len(right) == 2 and right[0] == left[-1]:
            return Dimensions(1, math.prod(left[:-1]), right[1], left[-1])
        if len(right) == 2 and right[1] == left[-1]:  # a linear layer keeps its weight transposed
            return Dimensions(1, math.prod(left[:-1]), right[0], left[-1])
    return None
