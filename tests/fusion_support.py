"""Sequences for tests of the rules that speak of them."""

from __future__ import annotations

import numpy as np

from stepscope.model.events.change import Change, Scaled
from stepscope.signals import Signal
from stepscope.signals.kernels.fusions import Fusion
from stepscope.signals.shared import job

CHANGE = Change(device=(Scaled(np.array([4, 5]), 0.0),))


def sequences(wanted: Signal[Fusion], share: float, platform: str = "cuda", count: int = 6) -> dict[object, object]:
    """Signals of a job of three steps with sequences of `P*SP` that cost this share of it."""
    found = Fusion(
        count=count,
        before_ns=6_000,
        after_ns=3_000,
        share=share,
        change=CHANGE,
        events=np.array([4, 5, 6]),
        ranges=((100, 900),),
        letters="PmSP",
        operators=("aten::bmm", "aten::mul", "aten::_softmax", "aten::bmm"),
    )
    return {wanted: found, job.platform: platform, job.recorded_steps: 3}
