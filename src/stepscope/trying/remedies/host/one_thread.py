"""One thread for operators, which are too small for more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

#: Small operators per step from which waiting for other threads may take longer than what these do.
_MANY: Final = 200


def _fits(seen: Seen) -> str:
    return said("operators use one thread") if seen.threads == 1 else ""


def _variables(seen: Seen) -> Mapping[str, str | None]:
    del seen
    return {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def _start(seen: Seen) -> bool:
    """Set it, and keep the program from setting another number."""
    import torch

    del seen
    torch.set_num_threads(1)
    torch.set_num_threads = lambda _count: None
    return True


REMEDY = OutsideRemedy(
    name="one-thread",
    title="One thread for operators",
    rules=("SYS007", "SYS001", "HST003"),
    # Its price is that of other processes, which this does not send away.
    unpriced=("SYS007",),
    numbers="rounding",
    changes="the order in which sums are added",
    fits=_fits,
    worth=lambda seen: seen.device == "cpu" and seen.small_operators >= _MANY,
    variables=_variables,
    start=_start,
    write=lambda _: ("export OMP_NUM_THREADS=1", "torch.set_num_threads(1)  # in place of another number"),
    excludes=("threads",),
)
