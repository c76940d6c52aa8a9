"""As many threads in each process as it has cores to itself."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    if seen.threads != seen.cores_per_rank:
        return ""
    return said("each process has {threads} threads, as many as it has cores", threads=seen.threads)


def _variables(seen: Seen) -> Mapping[str, str | None]:
    count = str(seen.cores_per_rank)
    return {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}


def _start(seen: Seen) -> bool:
    """Set them, and keep the program from setting another number."""
    import torch

    torch.set_num_threads(seen.cores_per_rank)
    torch.set_num_threads = lambda _count: None
    return True


def _write(seen: Seen) -> tuple[str, ...]:
    count = seen.cores_per_rank
    return (f"export OMP_NUM_THREADS={count}", f"torch.set_num_threads({count})  # in place of another number")


REMEDY = OutsideRemedy(
    name="threads",
    title="As many threads in each process as it has cores",
    rules=("SYS007", "SYS001", "HST003", "HST007", "HST013"),
    # Its price is that of other processes, which this does not send away.
    unpriced=("SYS007",),
    numbers="rounding",
    changes="the order in which sums are added",
    fits=_fits,
    evident=lambda seen: seen.threads > seen.cores,
    variables=_variables,
    start=_start,
    write=_write,
    excludes=("one-thread",),
)
