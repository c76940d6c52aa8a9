from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import synchronisation as sync
from stepscope.signals.shared import job
from support import Facts

CALLS = sync.Blocking(
    np.array([4, 9]),
    np.array([100, 900]),
    np.array([600, 400]),
    np.array([sync.KINDS.index("device"), sync.KINDS.index("scalar")], np.int8),
    np.zeros(2, np.bool_),
)
PLACES = (
    sync.WaitPlace("cudaDeviceSynchronize", None, None, "train.py(9): step", 1, 600),
    sync.WaitPlace("cudaStreamSynchronize", "aten::_local_scalar_dense", None, None, 1, 400),
)


def given(rate: float, platform: str = "cuda") -> dict[object, object]:
    return {
        sync.device_waits: rate,
        sync.calls: CALLS,
        sync.places: PLACES,
        sync.needless: CALLS,
        job.recorded_steps: 2,
        job.platform: platform,
    }


def test_waits_for_the_whole_device_are_found_with_their_line() -> None:
    (draft,) = drafts("SYN001", given(3.0))
    assert figures(draft.summary) == ["3", "300 ns", "train.py(9)"]
    assert draft.change is not None
    assert draft.change.unblocked.tolist() == draft.change.host[0].events.tolist() == [4]
    # What others may be symptoms of is the lead that the host loses by waiting.
    assert draft.explaining is not None
    assert (draft.explaining.unblocked.tolist(), draft.explaining.host) == ([4], ())
    assert draft.rows == ({"table": "synchronisations", "where": {"name": "cudaDeviceSynchronize", "operator": None}},)


@pytest.mark.parametrize(("platform", "module"), [("cuda", "torch.cuda"), ("rocm", "torch.cuda"), ("npu", "torch.npu")])
def test_the_code_is_that_of_the_platform(platform: str, module: str) -> None:
    (draft,) = drafts("SYN001", given(1.0, platform))
    assert all(f"{module}.synchronize()" in action.before for action in draft.actions)


def test_one_in_more_than_two_steps_just_misses() -> None:
    assert drafts("SYN001", given(0.49)) == []
    (draft,) = drafts("SYN001", given(0.5))
    assert {"2"} <= set(figures(draft.summary))


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYN001", {})


def test_the_price_is_the_time_in_which_the_device_waits_for_the_host() -> None:
    facts = Facts()
    for number in range(3):
        at = number * 1_000_000
        facts.step(number, at, 1_000_000)
        facts.host("op", "aten::mm", at + 10_000, 190_000)
        facts.kernel("gemm", at + 200_000, 500_000, launch=(at + 180_000, 10_000))
        facts.host("sync", "cudaDeviceSynchronize", at + 205_000, 500_000)
        facts.host("op", "aten::add", at + 710_000, 200_000)
        facts.kernel("add", at + 905_000, 90_000, launch=(at + 890_000, 10_000))
    (finding,) = findings("SYN001", facts.trace())
    assert finding.cost_ns is not None
    assert 150_000 < finding.cost_ns < 450_000


def _in_idle_time(took: int) -> int | None:
    """The price of a call between two kernels that takes so long although the device is idle."""
    facts = Facts()
    for number in range(3):
        at = number * 4_000_000
        facts.step(number, at, 4_000_000)
        facts.kernel("gemm", at + 100_000, 500_000, launch=(at + 50_000, 10_000))
        facts.host("sync", "cudaDeviceSynchronize", at + 700_000, took)
        facts.kernel("add", at + 800_000 + took, 3_150_000 - took, launch=(at + 750_000 + took, 10_000))
    (finding,) = findings("SYN001", facts.trace())
    return finding.cost_ns


def test_a_call_that_is_removed_takes_no_time_of_its_own() -> None:
    cost = _in_idle_time(900_000)
    assert cost is not None
    assert 850_000 <= cost <= 1_000_000


def test_a_long_wait_of_an_idle_device_is_for_work_that_nobody_recorded() -> None:
    cost = _in_idle_time(1_000_000)
    assert cost is not None
    assert cost < 200_000
