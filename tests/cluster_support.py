"""Ranks of a job, as rules about late ranks see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.signals.communication import cluster
from stepscope.signals.communication.rank_times import RankTimes, rank_times
from stepscope.signals.data import data
from stepscope.signals.host import host
from stepscope.signals.shared import job

STEP_NS = 1_000_000


def rank(
    wait: int = 400_000,
    *,
    device: float = 1.0,
    work: float = 1.0,
    operator: int = 1_000,
    dispatch: float = 0.0,
    fetched: int = 0,
    name: str | None = None,
    gain: int | None = None,
    pipe: tuple[int, ...] = (),
    place: int | None = None,
    bubble: int = 0,
    absent: bool = False,
) -> dict[Any, Any]:
    """A rank that waits so long for others in each of four steps of 1 ms; it makes 10 gemms of 20 µs in each.

    What it does not wait of 400 µs it computes where it is slower or has more to do; else its device idles.
    """
    busy = 200_000 + (400_000 - wait if device > 1 or work > 1 else 0)
    waited = wait + bubble
    times = RankTimes(
        4, STEP_NS, busy, waited, 0, STEP_NS - waited - busy, waited, wait,
        tuple((step, waited) for step in range(4)), pipe, place, absent=absent,
    )  # fmt: skip
    amount = np.full(4, 1e12) * work
    return {
        rank_times: times,
        cluster.waited_ns: wait,
        cluster.waited_share: wait / STEP_NS,
        cluster.unseen_ns: wait,
        cluster.unseen_share: wait / STEP_NS,
        cluster.gain_ns: wait if gain is None else gain,
        cluster.kernels: {"gemm": cluster.Kernel(10, 200_000 * device * work, 1280 * work)},
        cluster.work: cluster.StepLoad(amount, np.zeros(4)),
        cluster.host_name: name,
        host.operator_ns: operator,
        host.call_ns: 5_000,
        host.dispatch_share: dispatch,
        data.wait_ns: fetched,
        job.platform: "cuda",
    }
