"""Tables of embeddings of which a step looks up few rows and works on all, on the host's processor."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.events.op_inputs import input_texts, inputs_at
from stepscope.signals.host.own_operators import own_operators
from stepscope.signals.shared.ran_on import own_times
from stepscope.signals.shared.tensor_shapes import tensors
from stepscope.signals.signal import Signals, signal

#: So many times as many rows as are looked up: where it is less, gradients of single rows gain little.
_TIMES: Final = 10
_LOOKUP: Final = re.compile(r"^aten::(embedding|_embedding_bag)$")
_DENSE: Final = re.compile(r"^aten::(embedding_dense_backward|_embedding_bag_dense_backward)$")
#: A table that is multiplied by, as the last layer of a language model that shares it, needs all of its gradient.
_MULTIPLYING: Final = re.compile(r"^aten::(mm|addmm|bmm|matmul|linear)$")


@dataclass(frozen=True, slots=True)
class WholeTable:
    """The table that takes most time.

    Attributes:
        rows: Of the table.
        used: Rows that one call looks up, on average; at most, since some may be the same.
        own_ns: Own time of the operators that work on all of it.
        of_ns: Own time of all operators.
    """

    rows: int
    used: int
    own_ns: int
    of_ns: int


@signal()
def whole_table(s: Signals) -> WholeTable:
    """The table with dense gradients whose operators take most time, in a recording of a host alone with shapes."""
    s(own_operators)
    spans, names = Spans(s.trace), s.trace.once(names_by_id)
    ops = np.flatnonzero(spans.of("op") & on_host(s.trace, spans.track))
    inputs, own = inputs_at(s.trace, ops), own_times(spans)[ops]
    if not (inputs >= 0).any():
        raise MissingInputError.of("shapes")
    kinds = {one: name for one in np.unique(spans.name[ops]).tolist() if (name := names[one])}
    shapes = {row: tensors(text["shapes"]) for row, text in s.trace.once(input_texts).items()}
    pairs, index, count = np.unique(
        np.column_stack((spans.name[ops], inputs)), axis=0, return_inverse=True, return_counts=True
    )
    took = np.bincount(index.ravel(), own, len(pairs))
    looked: defaultdict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    worked: defaultdict[tuple[int, ...], int] = defaultdict(int)
    dense = 0
    for (name, row), calls, ns in zip(pairs.tolist(), count.tolist(), took.tolist(), strict=True):
        kind, every = kinds[name], shapes.get(row, ())
        if _LOOKUP.match(kind):
            if len(every) > 1 and len(every[0]) == 2:
                looked[every[0]].append((prod(every[1]), calls))
        elif _DENSE.match(kind):
            dense += int(ns)
        else:
            for shape in set(every):
                worked[shape] += int(ns)
                if _MULTIPLYING.match(kind):
                    worked[shape] = worked[shape[::-1]] = -1 << 62
    found = WholeTable(0, 0, 0, max(int(own.sum()), 1))
    for table, calls_ in looked.items():
        used = sum(number * calls for number, calls in calls_) // sum(calls for _, calls in calls_)
        ns = worked[table] + dense
        if dense and _TIMES * used <= table[0] and ns > found.own_ns:
            found = WholeTable(table[0], used, ns, found.of_ns)
    return found
