"""Bus factors: bytes on each link per byte of a collective's size."""

from __future__ import annotations


def bus_factor(collective: str, ranks: int) -> float | None:
    """Bytes on each link per byte of the collective's size, for `ranks` participants.

    Size divided by time and multiplied by this factor is the bus bandwidth, which compares to the hardware's for any
    collective and number of ranks. Source: NVIDIA nccl-tests, doc/PERFORMANCE.md. The size is the larger of input and
    output.

    Returns:
        The factor; None if it depends on a number of ranks that is not known, or the collective moves no data.
    """
    if collective in ("broadcast", "reduce", "send", "recv", "send_recv"):
        return 1.0
    if ranks < 2:
        return None
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if collective in ("all_gather", "reduce_scatter", "gather", "scatter", "all_to_all"):
        return (ranks - 1) / ranks
    return None
