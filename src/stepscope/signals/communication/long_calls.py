"""Collectives that last many times as long as similar ones: they wait, though transfer is not recorded."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.stepgraph.building.peers import quickest
from stepscope.model.intervals import Times

#: Rates of links vary by contention, two- or threefold; a call that takes so many times what another one shows to be
#: enough for its size did something else most of the time.
_TIMES: Final = 5.0
#: The same where sizes are not recorded: the longest few against the next longest of all, whatever they move.
_TIMES_ANY: Final = 8.0
_FEW: Final = 3
#: So many others must be there to compare with.
_OTHERS: Final = 5
_P2P: Final = ("send", "recv", "send_recv")


def standing_out(name: NDArray[np.str_], group: NDArray[np.str_], size: NDArray[np.int64], took: Times) -> Times:
    """Upper bound of what each collective needs, int64[n] ns: lowered for those far above similar ones.

    Args:
        name: Kinds of collectives; sends and receives wait by their nature and are left as they are.
        group: Groups.
        size: Bytes, -1 where not recorded.
        took: Durations in ns, or what is known of the transfers.
    """
    needed: Times = took.copy()
    collective = ~np.isin(name, _P2P)
    sized = collective & (size > 0)
    for one in np.unique(np.char.add(np.char.add(group[sized], " "), name[sized])).tolist():
        mine = np.flatnonzero(sized & (np.char.add(np.char.add(group, " "), name) == one))
        least = quickest(size[mine], took[mine])
        far = took[mine] >= _TIMES * least
        needed[mine[far]] = least[far]
    if not sized.any():
        rest = np.flatnonzero(collective)
        order = rest[np.argsort(-took[rest], kind="stable")]
        for number in range(min(_FEW, order.size - _OTHERS), 0, -1):
            if took[order[number - 1]] >= _TIMES_ANY * max(int(took[order[number]]), 1):
                needed[order[:number]] = took[order[number]]
                break
    return needed
