from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.engine import diagnose
from stepscope.rules.fitting import fitting
from stepscope.rules.registry import all_rules
from stepscope.rules.settings import Settings
from stepscope.signals.host import synchronisation as sync
from stepscope.signals.shared import job
from support import Facts


def given(waits: int, per_launch: float, blocking: float = 0.0, platform: str = "cuda") -> dict[object, object]:
    calls = sync.Blocking(
        np.arange(waits),
        np.arange(waits) * 1000,
        np.full(waits, 500),
        np.zeros(waits, np.int8),
        np.zeros(waits, np.bool_),
    )
    long = np.ones(10, np.bool_)
    launching = sync.KernelLaunches(np.arange(100, 110), np.full(10, 30_000), long, long & (blocking > 0))
    return {
        sync.calls: calls,
        sync.needless: calls.where(calls.events > 0),
        sync.per_launch: per_launch,
        sync.places: (),
        sync.launching: launching,
        sync.blocking_launches: blocking,
        job.recorded_steps: 1,
        job.platform: platform,
    }


def test_a_wait_after_every_kernel_is_found() -> None:
    (draft,) = drafts("SYN005", given(40, 1.0))
    assert {"1.0", "40"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.unblocked.size == 40
    assert draft.change.host[0].events.size == 39
    # What others may be symptoms of is the lead that the host loses by waiting.
    assert draft.explaining is not None
    assert (draft.explaining.unblocked.size, draft.explaining.host) == (40, ())


def test_launches_that_block_are_found() -> None:
    (draft,) = drafts("SYN005", given(0, 0.0, 0.9))
    assert draft.key == "launches"
    assert "CUDA_LAUNCH_BLOCKING" in draft.actions[0].before
    assert draft.change is not None
    assert draft.change.host[0].events.tolist() == list(range(100, 110))


@pytest.mark.parametrize(
    ("platform", "waits", "variable"),
    [("npu", 40, "ASCEND_LAUNCH_BLOCKING=1"), ("rocm", 0, "AMD_SERIALIZE_KERNEL=3")],
)
def test_the_variable_is_that_of_the_platform(platform: str, waits: int, variable: str) -> None:
    (draft,) = drafts("SYN005", given(waits, waits / 40, 0.0 if waits else 0.9, platform))
    assert any(variable in action.before for action in draft.actions)


@pytest.mark.parametrize("platform", ["cuda", "rocm"])
def test_calls_that_wait_are_not_the_variables_doing(platform: str) -> None:
    """CUDA and HIP wait inside the launch where the variable is set: a call that is seen is the program's own."""
    (draft,) = drafts("SYN005", given(40, 1.0, platform=platform))
    assert not any("unset" in action.after for action in draft.actions)
    native = Program(framework="native", platform="cuda", language="c++")
    remedies = fitting((*draft.actions, *all_rules()["SYN005"].rule.elsewhere), native)
    assert any("run in order" in action.text for action in remedies)


def test_just_below_the_thresholds_nothing_is_found() -> None:
    assert drafts("SYN005", given(40, 0.49, 0.49)) == []
    assert drafts("SYN005", given(9, 1.0)) == []
    assert len(drafts("SYN005", given(10, 0.5))) == 1


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYN005", {})


def recorded() -> Facts:
    facts = Facts()
    for number in range(3):
        at = number * 2_000_000
        facts.step(number, at, 2_000_000)
        for kernel in range(20):
            start = at + kernel * 100_000
            facts.kernel("gemm", start + 20_000, 30_000, launch=(start, 5_000))
            facts.host("sync", "cudaDeviceSynchronize", start + 6_000, 50_000)
    return facts


def test_host_and_device_take_turns_which_costs_the_time_of_the_host() -> None:
    (finding,) = findings("SYN005", recorded().trace())
    assert finding.cost_ns is not None
    assert 0.3 < finding.cost_ns / 2_000_000 < 0.6


def test_what_follows_from_it_is_its_symptom() -> None:
    found = diagnose(recorded().trace(), Settings(select=("synchronisation",)), strict=True).findings
    assert [(f.code, f.symptoms) for f in found] == [("SYN005", ("The program waits for the whole device",))]
