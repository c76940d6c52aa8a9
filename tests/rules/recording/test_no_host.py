from __future__ import annotations

from pathlib import Path

import pytest

from readers.conformance import open_fresh
from recording_support import advised
from rule_support import figures, findings
from stepscope.model.program import Program
from stepscope.rules.fitting import fitting
from stepscope.signals.recording import recording
from stepscope.signals.shared.program import program


def test_it_is_advised_without_a_price() -> None:
    (draft,) = advised("REC004", {"host": 1.0})
    assert (draft.change, draft.cost_ns) == (None, None)


def test_wording() -> None:
    (draft,) = advised("REC004", {"host": 1.0})
    assert "which operator launched what" in draft.summary


def test_the_advice_is_for_the_profiler_at_hand() -> None:
    (draft,) = advised("REC004", {"host": 1.0}, profiler="ascend")
    assert "ProfilerActivity.NPU" in draft.actions[0].after


def test_three_weightier_gaps_go_before_it() -> None:
    assert len(advised("REC004", {"host": 1.0, **dict.fromkeys(("lost", "device"), 3.0)})) == 1
    assert advised("REC004", {"host": 1.0, **dict.fromkeys(("lost", "device", "history"), 3.0)}) == []


def test_a_recording_that_has_it_leaves_the_rule_unasked_for_advice() -> None:
    assert advised("REC004", {}) == []


def test_a_program_that_the_snippet_does_not_fit_gets_the_advice_in_words() -> None:
    mindspore = Program(framework="mindspore", language="python", platform="npu")
    pytorch = Program(framework="pytorch", language="python", platform="npu")
    (draft,) = advised("REC004", {"host": 1.0}, profiler="ascend", given={program: mindspore})
    assert not draft.actions[0].after
    assert fitting(draft.actions, mindspore) == draft.actions
    (draft,) = advised("REC004", {"host": 1.0}, profiler="ascend", given={program: pytorch})
    assert "ProfilerActivity.NPU" in draft.actions[0].after


def test_sums_alone_do_not_tell_why_the_device_is_idle() -> None:
    (draft,) = advised("REC004", {"host": 0.58}, profiler="ascend", given={recording.work_known: False})
    assert figures(draft.summary) == ["58.0 %"]
    (other,) = advised("REC004", {"host": 0.58}, profiler="ascend", given={recording.work_known: True})
    assert draft.title != other.title


@pytest.mark.parametrize(("free_us", "shown"), [(58_000, True), (10_000, True), (9_900, False), (0, False)])
def test_idle_time_of_a_tenth_of_the_step_in_sums_is_told(tmp_path: Path, free_us: int, shown: bool) -> None:
    head = "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n"
    rows = [f"{step},{100_000 - free_us},0,0,0,{free_us},0,0\n" for step in range(10, 14)]
    (tmp_path / "step_trace_time.csv").write_text(head + "".join(rows), "utf-8")
    with open_fresh(tmp_path) as trace:
        assert len(findings("REC004", trace)) == shown
