"""Why rows are missed, as far as it is known."""

from __future__ import annotations

from typing import Final

_PIPELINE = (
    "how torchtitan's pipeline kept gradients and gathered weights between micro-batches is not published; the step "
    "has costs between stages that the plan does not know"
)
_RING = "buffers of the ring over the ranks of a sequence grow with it, and are not in the plan"
EXPLAINED: Final[dict[str, str]] = {
    "013": "ZeRO-3 of 2021 gathers parameter by parameter; micro-batch 4, 2 and 1 are what the batch leaves",
    "014": "the same",
    "015": "the same",
    "040": "2 ranks per sequence cost less in this run than the law that fits 4 and 8 says",
    "044": _PIPELINE,
    "045": _PIPELINE,
    "046": _PIPELINE,
    "047": _PIPELINE,
    "049": _RING,
    "059": "whether the published TFLOP/s count masked scores is not said; if not, the published step would be 10.9 s",
    "076": "NVIDIA's page of the release before (25.09) has twice the rate for the same layout: row o015, -14 %",
    "437": "its all-to-alls send 8 bits forth and each token to four servers at most, which the plan does not know",
}
