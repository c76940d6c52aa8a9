from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.rules.fitting import fitting
from stepscope.signals.copies.copy_kinds import pageable
from stepscope.signals.host import synchronisation as sync
from stepscope.signals.shared import job
from transfer_support import copies

CALLS = sync.Blocking(
    np.array([1, 2]),
    np.array([100, 900]),
    np.array([600, 400]),
    np.full(2, sync.KINDS.index("copy"), np.int8),
    np.array([False, True]),
)


def given(rate: float, platform: str = "cuda") -> dict[object, object]:
    place = sync.WaitPlace("cudaStreamSynchronize", "aten::copy_", None, "eval.py(7): collect", 2, 1000)
    return {
        sync.copy_waits: rate,
        sync.calls: CALLS,
        sync.places: (place,),
        job.recorded_steps: 1,
        job.platform: platform,
    }


def test_waits_for_copies_are_found_but_for_those_that_pageable_memory_needs() -> None:
    (draft,) = drafts("SYN003", given(1.0))
    assert {"eval.py(7)"} <= set(figures(draft.summary))
    assert {"600 ns"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.unblocked.tolist() == [1]


def test_the_code_is_that_of_the_platform() -> None:
    (draft,) = drafts("SYN003", given(1.0, "npu"))
    [first, *_] = fitting(draft.actions, Program("training", "pytorch", "npu", "python"))
    assert '.to("npu", non_blocking=True)' in first.after


@pytest.mark.parametrize(("server", "code"), [("vLLM", "--async-scheduling"), ("SGLang", "sglang.launch_server")])
def test_servers_are_not_shown_code_for_a_loop_of_one_s_own(server: str, code: str) -> None:
    (draft,) = drafts("SYN003", given(1.0))
    [ahead] = fitting(draft.actions, Program("serving", "pytorch", "cuda", "python", libraries=(server,)))
    assert code in ahead.after


def test_one_in_three_steps_just_misses() -> None:
    assert drafts("SYN003", given(0.49)) == []
    assert len(drafts("SYN003", given(0.5))) == 1


def test_without_device_activity_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYN003", {})


@pytest.mark.parametrize(("memory", "locked"), [("pageable", True), ("pinned", False)])
def test_page_locked_memory_is_not_to_be_locked(memory: str, locked: bool) -> None:
    found = copies({"src": memory, "ts": 0, "dur": 400_000})
    waited = found if memory == "pageable" else found.where([False])
    (draft,) = drafts("SYN003", {**given(1.0), pageable: waited})
    remedies = fitting(draft.actions, Program(framework="native", platform="cuda", language="c++"))
    assert any("page-locked memory, once" in action.text for action in remedies) == locked
    assert remedies
