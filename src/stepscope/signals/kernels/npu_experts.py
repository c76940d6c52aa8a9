"""Experts of a mixture that are computed one after another, where torch_npu multiplies all groups in one operator."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.fusions import Fusion, fusion
from stepscope.signals.kernels.npu_fusions import named_at
from stepscope.signals.shared.dimensions import dimensions
from stepscope.signals.shared.host_cost import one_call
from stepscope.signals.shared.job import platform, step_share
from stepscope.signals.shared.operations import Operations, operations
from stepscope.signals.shared.patterns import Ranges, members
from stepscope.signals.shared.roles import BOUNDARY
from stepscope.signals.signal import Signals, signal

#: What chooses experts; their multiplications follow.
_CHOICE: Final = re.compile(r"top_?k|moe_?gating", re.IGNORECASE)
#: The next attention ends a layer's experts. A router's own softmax comes before any of them.
_ENDS: Final = frozenset("FST" + BOUNDARY)
#: So many multiplications by weights of one shape, of so many different numbers of tokens: the parts of a tensor have
#: one length, and the last another.
_EXPERTS: Final = 4
_LOADS: Final = 3
#: Order and shapes tell it, and not which tensors the multiplications read.
_SURE: Final = 0.7


@signal()
def expert_loops(s: Signals) -> Fusion:
    """Stretches of a queue in which experts run one after another; one operator of all would leave its device time.

    Its `share` is that of the host's time that would go away.
    """
    if s(platform) != "npu":
        raise MissingInputError("the devices of the recording have no such operators", hint="nothing is missing")
    w = s(operations)
    rows = list(_loops(s, w))
    first, last, experts = np.array(rows, np.int64).reshape(-1, 3).T
    found = Ranges(first, last, first)
    made = fusion(s, found, one_call(s, found, experts), int(w.dur[members(found)[0]].sum()))
    return replace(made, share=step_share(s, made.host_ns - made.host_after_ns), confidence=_SURE)


def _loops(s: Signals, w: Operations) -> Iterator[tuple[int, int, int]]:
    """First and last operation of the experts after each choice, and how many experts there are."""
    letters = np.array(list(w.letters))
    told = np.flatnonzero(letters == "#")
    choices = told[named_at(s, w, told, _CHOICE)]
    if not choices.size:
        return
    gemms = np.flatnonzero((letters == "P") & (w.shape >= 0))
    ends = np.flatnonzero(np.isin(letters, list(_ENDS)))
    for number, at in enumerate(choices.tolist()):
        until = int(choices[number + 1]) if number + 1 < choices.size else letters.size
        mine = gemms[(gemms > at) & (gemms < until)]
        if mine.size:
            stop = ends[ends > mine[0]]
            yield from _experts(w, mine[mine < stop[0]] if stop.size else mine)


def _experts(w: Operations, gemms: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Multiplications by weights of one shape whose numbers of rows differ."""
    groups: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for at in gemms.tolist():
        one = dimensions(w.shapes[int(w.shape[at])])
        if one is not None and one.batch == 1:
            groups[one.n, one.k].append((at, one.m))
    theirs = [
        group for group in groups.values() if len(group) >= _EXPERTS and len({rows for _, rows in group}) >= _LOADS
    ]
    if theirs:
        places = [at for group in theirs for at, _ in group]
        yield min(places), max(places), min(len(group) for group in theirs)
