"""Ranks of a job, as rules about late ranks see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.signals.communication import cluster
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
) -> dict[Any, Any]:
    """A rank that waits so long for others in a step of 1 ms; it makes 10 gemms of 20 µs in each."""
    amount = np.full(4, 1e12) * work
    return {
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
