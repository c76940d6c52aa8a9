"""Recognise collectives by names: the kernel's own, and those of operators and annotations around its launch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.inputs import texts_of
from stepscope.ingest.derive.names.classes import names_of
from stepscope.model.events.lookup import match
from stepscope.model.intervals import distinct
from stepscope.model.kernel_names import classify
from stepscope.model.opcost.call import CallArguments
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

#: Collectives in kernel names that table `collectives` names otherwise: the halves of an expert exchange, and one-sided
#: transfers.
_CANONICAL: Final = {"dispatch": "all_to_all", "combine": "all_to_all", "put": "send"}

_MODULES_SQL: Final = "SELECT id, name_id FROM raw_events SEMI JOIN modules USING (id)"
_TEXTS_SQL: Final = """
SELECT texts, shapes, dtypes FROM input_texts SEMI JOIN wanted USING (texts)
WHERE shapes IS NOT NULL AND dtypes IS NOT NULL
"""


def named_collective(name: str) -> str | None:
    """The collective in a name, as table `collectives` names it; None if there is none."""
    kind = classify(name).collective
    return _CANONICAL.get(kind, kind) if kind else None


def collectives_by_name(
    staging: Staging, name_id: NDArray[np.int32], op: Ids, module: Ids, chain: pa.Table
) -> pa.Table:
    """Describe n collectives by names, and by the inputs of the operators with such names.

    Args:
        staging: Holds names and inputs.
        name_id: int32[n], the names of the device events.
        op: int64[n], their operators; -1 for none.
        module: int64[n], their modules or annotations; -1 for none.
        chain: The operators around each operator, see `CHAIN`.

    Returns:
        group, collective, bytes and dtype of each.
    """
    # Each name's collective, ordered from the operator at the launch outwards; the kernel's own name comes last.
    own, rows = _expanded(op, chain["op"].to_numpy())
    at, module_names = _modules(staging, module)
    of = np.concatenate((own, at, np.arange(op.size)))
    words = np.concatenate((chain["name_id"].to_numpy()[rows], module_names, name_id))
    host = np.full(of.size, -1, np.int64)
    host[: own.size] = chain["around"].to_numpy()[rows]
    order = np.argsort(of, kind="stable")
    of, words, host = of[order], words[order], host[order]

    numbers = distinct(words)
    names = names_of(staging.connection, numbers)
    number = np.searchsorted(numbers, words)
    named = [named_collective(name) for name in names]
    is_named = np.array([word is not None for word in named], np.bool_)
    collective = np.full(op.size, "other", object)
    first = np.flatnonzero(is_named[number])
    collective[of[first][::-1]] = np.array(named, object)[number[first]][::-1]

    is_comm = np.array([classify(name).op_class == "collective" for name in names], np.bool_)
    sized = np.flatnonzero(is_comm[number] & (host >= 0))
    moved, dtype = _sizes(staging, op.size, of[sized], host[sized])
    return pa.table(
        {
            "group": ["default"] * op.size,
            "collective": pa.array(collective, pa.string()),
            "bytes": moved,
            "dtype": dtype,
        }
    )


def _expanded(op: Ids, ops: Ids) -> tuple[Ids, Ids]:
    """Positions (i, j) with `op[i] == ops[j]`, sorted by i, then by j."""
    order = np.argsort(ops, kind="stable")
    first, last = (np.searchsorted(ops[order], op, side=side) for side in ("left", "right"))
    count = last - first
    own = np.repeat(np.arange(op.size), count)
    return own, order[np.arange(own.size) - np.repeat(np.cumsum(count) - count - first, count)]


def _modules(staging: Staging, module: Ids) -> tuple[Ids, NDArray[np.int32]]:
    """Positions of the collectives with a module, and the name id of each module."""
    at = np.flatnonzero(module >= 0)
    if not at.size:
        return at, np.zeros(0, np.int32)
    staging.connection.register("modules", pa.table({"id": distinct(module[at])}))
    rows = staging.connection.execute(_MODULES_SQL).fetchnumpy()
    staging.connection.unregister("modules")
    return at, rows["name_id"][match(rows["id"], module[at])]


def _sizes(staging: Staging, n: int, of: Ids, host: Ids) -> tuple[pa.Array, pa.Array]:
    """Bytes and type of the largest input tensor of each of n collectives; `of` maps host operators to collectives."""
    texts = texts_of(staging, host)
    staging.connection.register("wanted", pa.table({"texts": np.unique(texts[texts >= 0])}))
    rows = staging.connection.execute(_TEXTS_SQL).fetchall()
    staging.connection.unregister("wanted")
    largest = {number: _largest(shapes, dtypes) for number, shapes, dtypes in rows}
    moved: list[int | None] = [None] * n
    dtype: list[str | None] = [None] * n
    for which, number in zip(of.tolist(), texts.tolist(), strict=True):
        size, kind = largest.get(number, (None, None))
        known = moved[which]
        if size is not None and (known is None or size > known):
            moved[which], dtype[which] = size, kind
    return pa.array(moved, pa.int64()), pa.array(dtype, pa.string())


def _largest(shapes: str, dtypes: str) -> tuple[int | None, str | None]:
    """Bytes and type of an operator's largest input tensor."""
    try:
        tensors = CallArguments(json.loads(shapes), json.loads(dtypes), ()).tensors()
    except (ValueError, TypeError, RecursionError):
        return None, None
    sizes = [(tensor.nbytes, tensor.dtype) for tensor in tensors if tensor.nbytes is not None and tensor.shape]
    return max(sizes, key=lambda size: size[0], default=(None, None))
