"""FLOPs and bytes of matrix kernels from the shapes that the profiler recorded with them.

Multiplication: 2 M N K per pair of matrices, where the result has M N elements; K is what both operands share, so that
it does not matter which of them are transposed. Attention: as in `stepscope.model.opcost`,
4 B H Nq Nk D forward and 10 B H Nq Nk D backward, which recomputes the scores. Batch, heads and queries are those of
the softmax's maxima, which have a layout of their own. A mask of 2048 x 2048 for longer sequences is a compressed one,
which all but one of its modes (`sparse_mode` 2 to 4 of `npu_fusion_attention`) take for causal: then each query sees
half of the keys on average. Where a mask's kind is not recorded otherwise, all pairs count. Convolution: twice the
elements of its result (backward: of that one's gradient) times the weights of one output channel, with at least two
blocks of input channels: fewer may be padding for the most part.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from stepscope.model import dtypes
from stepscope.store.staging import Staging

#: Formats in which a tensor's shape is that of its elements, and those that are blocked: their last four dimensions
#: are blocks of 16 by 16 (or 32 bytes) of the last two of a matrix.
_PLAIN: Final = frozenset({"ND", "NCL", "NCHW", "NHWC", "ND_RNN_BIAS", ""})
_BLOCKED: Final = frozenset({"FRACTAL_NZ", "NZ"})
#: Most FLOPs and bytes of a kernel; shapes that imply more are wrong.
_MOST: Final = 2**62
_MASK: Final = 2048
#: Places of the input, the weights and the result (or its gradient) among inputs and outputs.
_CONVOLUTIONS: Final = {"Conv2D": (0, 1, -1), "Conv2DBackpropInput": (-1, 1, 2), "Conv2DBackpropFilter": (0, -1, 2)}
_WORDS: Final = ("Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types")

_TEXTS_SQL: Final = f"""
SELECT DISTINCT op_type, {", ".join(f"coalesce(args->>'{word}', '') AS c{n}" for n, word in enumerate(_WORDS))}
FROM ascend_device WHERE kind = 'compute' AND args IS NOT NULL AND args->>'Output Shapes' IS NOT NULL
    AND regexp_matches(op_type, 'Mat[Mm]ul|FlashAttentionScore|^Conv2D')
"""
_KERNELS_SQL: Final = f"""
CREATE TABLE ascend_costs AS
SELECT d.i, d.op, t.flops, t.bytes, t.shapes AS shapes_text, t.dtypes AS dtypes_text
FROM ascend_device d JOIN ascend_cost_texts t ON t.op_type = d.op_type
    AND {" AND ".join(f"t.c{n} = coalesce(d.args->>'{word}', '')" for n, word in enumerate(_WORDS))}
WHERE d.kind = 'compute' AND d.args IS NOT NULL
"""
_COSTS_SQL: Final = "INSERT INTO raw_costs SELECT i, flops, bytes FROM ascend_costs ORDER BY i"
#: Kernels of operators without recorded inputs have their own.
_INPUTS_SQL: Final = """
INSERT INTO op_inputs BY NAME SELECT i AS event, shapes_text AS shapes, dtypes_text AS dtypes FROM ascend_costs
WHERE op IS NULL OR op NOT IN (SELECT i FROM ascend_inputs WHERE shapes <> '') ORDER BY i
"""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor of a kernel.

    Attributes:
        shape: As recorded, of the blocks where it is blocked.
        dtype: As in `stepscope.model.dtypes`; None if unknown.
        format: As recorded, without `FORMAT_`.
    """

    shape: tuple[int, ...]
    dtype: str | None
    format: str

    @property
    def elements(self) -> int:
        """Number of elements, padding of blocks included."""
        return math.prod(self.shape) if self.shape else 0

    @property
    def bytes(self) -> int:
        """Size; 0 if the type is unknown."""
        return self.elements * (dtypes.itemsize(self.dtype) or 0)

    @property
    def batch(self) -> int:
        """Number of matrices: all dimensions but their own two, or four if they are blocked, multiplied."""
        return math.prod(self.shape[: -4 if self.format in _BLOCKED else -2])


def stage_costs(staging: Staging) -> None:
    """Stage FLOPs and bytes of matrix kernels, and the inputs of those whose operators have none."""
    rows = staging.connection.execute(_TEXTS_SQL).fetchall()
    found = [(row, cost) for row in rows if (cost := kernel_cost(*row)) is not None]
    if not found:
        return
    names = ("op_type", *(f"c{n}" for n in range(len(_WORDS))), "flops", "bytes", "shapes", "dtypes")
    values = [[*row, float(flops), moved, *_inputs_json(row[1], row[2])] for row, (flops, moved) in found]
    types = [pa.string()] * (1 + len(_WORDS)) + [pa.float64(), pa.int64(), pa.string(), pa.string()]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*values, strict=True), types, strict=True)]
    staging.connection.execute(
        "CREATE TABLE ascend_cost_texts ("
        + ", ".join(f"{name} {'VARCHAR' if kind == pa.string() else 'DOUBLE' if kind == pa.float64() else 'BIGINT'}"
                    for name, kind in zip(names, types, strict=True))
        + ")"
    )  # fmt: skip
    staging.insert("ascend_cost_texts", pa.Table.from_arrays(columns, names=list(names)))
    for statement in (_KERNELS_SQL, _COSTS_SQL, _INPUTS_SQL):
        staging.connection.execute(statement)


def kernel_cost(
    op_type: str, shapes: str, types: str, formats: str, out_shapes: str, out_types: str
) -> tuple[int, int] | None:
    """FLOPs and bytes of a kernel; None if there is no formula for it, or its shapes contradict each other.

    Args:
        op_type: `MatMulV3`, `FlashAttentionScoreGrad`, ...
        shapes: As recorded: `"4096,1024;6144,1024"`, in quotes or not.
        types: `DT_BF16;DT_BF16`.
        formats: `ND;FRACTAL_NZ`.
        out_shapes: Of the results.
        out_types: Of the results.
    """
    inputs, outputs = operands(shapes, types, formats), operands(out_shapes, out_types, "")
    if op_type.startswith("FlashAttentionScore"):
        flops = _attention(inputs, outputs, backward="Grad" in op_type)
    elif op_type in _CONVOLUTIONS:
        flops = _convolution([*inputs, *outputs], *_CONVOLUTIONS[op_type])
    elif op_type.startswith("GroupedMatmul"):
        flops = _grouped(inputs, outputs)
    elif op_type.startswith(("MatMul", "BatchMatMul", "Mm", "Bmm")):
        flops = _gemm(inputs, outputs)
    else:
        return None
    moved = sum(one.bytes for one in (*inputs, *outputs))
    return (flops, moved) if flops is not None and 0 < flops < _MOST and 0 < moved < _MOST else None


def operands(shapes: str, types: str, formats: str) -> list[Operand]:
    """The tensors in texts as recorded, one per place; those without a shape have none."""
    listed = [_shape(text) for text in _split(shapes)]
    kinds, forms = _split(types), [text.removeprefix("FORMAT_") for text in _split(formats)]
    return [
        Operand(shape, dtypes.canonical(kinds[n]) if n < len(kinds) else None, forms[n] if n < len(forms) else "")
        for n, shape in enumerate(listed)
    ]


def _split(text: str) -> list[str]:
    plain = text.strip().strip('"').strip()
    return [item.strip() for item in plain.split(";")] if plain else []


def _shape(text: str) -> tuple[int, ...]:
    sizes = [item.strip() for item in text.strip("[]").split(",") if item.strip()]
    return tuple(int(size) for size in sizes) if all(size.isdecimal() and len(size) < 12 for size in sizes) else ()


def _inputs_json(shapes: str, types: str) -> tuple[str, str]:
    return json.dumps([list(one.shape) for one in operands(shapes, types, "")]), json.dumps(_split(types))


def _gemm(inputs: Sequence[Operand], outputs: Sequence[Operand]) -> int | None:
    """Matrix multiplications, batched or not."""
    if len(inputs) < 2 or not outputs or any(len(one.shape) < 2 for one in (*inputs[:2], outputs[0])):
        return None
    left, right, out = inputs[0], inputs[1], outputs[0]
    if left.format not in _PLAIN | _BLOCKED or right.format not in _PLAIN | _BLOCKED:
        return None
    if left.format in _PLAIN and right.format in _PLAIN:
        m, n = out.shape[-2:]
        inner = next((k for k in left.shape[-2:] if set(left.shape[-2:]) == {k, m} and set(right.shape[-2:]) == {k, n}),
                     None)  # fmt: skip
        if inner is None:
            return None
        return 2 * out.batch * m * n * inner
    # Blocked operands are padded to whole blocks, a little more than what is computed.
    pairs = (left.elements // max(left.batch, 1)) * (right.elements // max(right.batch, 1)) * out.shape[-1]
    return 2 * out.batch * math.isqrt(pairs * out.shape[-2]) or None


def _grouped(inputs: Sequence[Operand], outputs: Sequence[Operand]) -> int | None:
    """Rows times the matrices of their experts: each row meets one matrix."""
    if len(inputs) < 2 or not outputs or len(inputs[0].shape) != 2 or len(outputs[0].shape) != 2:
        return None
    (rows, inner), (result, width) = inputs[0].shape, outputs[0].shape
    # With more than one result, of a group each, or the transposed first operand of a gradient, rows are others.
    return 2 * rows * inner * width if rows == result and sum(bool(one.shape) for one in outputs) == 1 else None


def _convolution(tensors: Sequence[Operand], source: int, weights: int, result: int) -> int | None:
    """Convolutions in blocks of channels: [N, C1, H, W, C0] and [C1 H W, N1, N0, C0]."""
    if len(tensors) < 3:
        return None
    shape, kernel, out = tensors[source].shape, tensors[weights].shape, tensors[result].shape
    if len(shape) != 5 or len(kernel) != 4 or len(out) != 5 or shape[1] < 2 or kernel[0] % shape[1]:
        return None
    # Channels of the result are padded to whole blocks in both, alike.
    return 2 * math.prod(out[:1]) * out[2] * out[3] * math.prod(kernel)


def _attention(inputs: Sequence[Operand], outputs: Sequence[Operand], *, backward: bool) -> int | None:
    """Fused attention: from the query, the keys and the maxima of the softmax, [B, H, Nq, 8]."""
    if len(inputs) < 3:
        return None
    places = inputs[3:] if backward else outputs
    maxima = next((one.shape for one in places if len(one.shape) == 4 and one.shape[3] == 8), None)
    query, keys = inputs[0].shape, inputs[1].shape
    if maxima is None or len(query) != len(keys):
        return None
    batch, heads, queries, _ = maxima
    axes = [n for n, length in enumerate(query) if length == queries]
    if len(query) == 3 and query[:2] == (queries, batch) and batch != queries:
        axis = 0
    elif len(query) == 3 and query[:2] == (batch, queries) and batch != queries:
        axis = 1
    elif len(query) == 4 and query[0] == batch and len(axes) == 1 and axes[0] in (1, 2):
        axis = axes[0]
    else:
        return None
    width, rest = divmod(inputs[0].elements, batch * heads * queries)
    if rest or not width:
        return None
    pairs = batch * heads * queries * keys[axis]
    masks = (one for one in inputs[3:] if one.dtype in ("bool", "uint8") or one.dtype is None)
    compressed = any(one.shape[-2:] == (_MASK, _MASK) for one in masks) and min(queries, keys[axis]) > _MASK
    if compressed and queries == keys[axis]:
        pairs = batch * heads * queries * (queries + 1) // 2
    return (10 if backward else 4) * pairs * width
