from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readers.kineto_text import document, op, opened
from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.rules.rule import Draft
from stepscope.signals.host import own_operators
from stepscope.signals.host.own_operators import OwnOperators

MS = 1_000_000


def _found(
    recorded: int = 100, running: int = 50, *, sure: bool = True, in_steps: bool = False, short: int = 0
) -> list[Draft]:
    foremost = (("aten::sort", 30 * MS), ("aten::mm", 10 * MS))
    told = OwnOperators(recorded * MS, in_steps, running * MS, 40 * MS, foremost, 7, short * MS, np.array([2, 1]), sure)
    given: dict[Any, Any] = {own_operators.own_operators: told}
    return drafts("HST019", given)


def test_operators_that_take_the_time_are_named() -> None:
    (draft,) = _found()
    assert {"50.0 %", "100 ms", "aten::sort", "75 %", "25 %", "7"} <= set(figures(draft.summary))
    assert draft.taken_ns == 50 * MS


def test_of_what_the_share_is_told() -> None:
    (steps,), (recorded,) = _found(in_steps=True), _found()
    assert figures(steps.summary) == figures(recorded.summary)
    assert steps.summary != recorded.summary


def test_what_might_be_a_device_is_left_open() -> None:
    (open_,), (sure,) = _found(sure=False), _found()
    assert len(open_.summary) > len(sure.summary)
    assert open_.confidence < sure.confidence


@pytest.mark.parametrize(("recorded", "running"), [(100, 49), (4, 4)])
def test_a_small_part_or_a_brief_recording_is_left_alone(recorded: int, running: int) -> None:
    assert _found(recorded, running) == []


@pytest.mark.parametrize(("short", "larger"), [(19, False), (20, True)])
def test_where_calling_takes_the_time_larger_calls_are_advised(short: int, larger: bool) -> None:
    """Of 40 ms of own time."""
    (draft,), (other,) = _found(short=short), _found()
    assert (draft.actions[0] != other.actions[0]) == larger
    assert ("20.0 µs" in figures(draft.summary)) == larger


def test_with_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST019", {})


def _calls(*names: str) -> list[str]:
    """Calls of 2 ms each, one after another, each in an operator that only holds it."""
    return [
        text
        for i, name in enumerate(names)
        for text in (op("aten::outer", 2_000 * i, dur=2_000), op(name, 2_000 * i, dur=1_990))
    ]


def test_what_operators_hold_is_not_theirs(tmp_path: Path) -> None:
    with opened(document(*_calls("aten::sort", "aten::sort", "aten::add")), tmp_path) as trace:
        (finding,) = findings("HST019", trace)
    assert {"100.0 %", "6.00 ms", "66 %", "33 %"} <= set(figures(finding.summary))


def test_a_recording_that_names_a_device_or_uses_one_is_another_matter(tmp_path: Path) -> None:
    listed = '{"deviceProperties": [{"id": 0, "name": "Tesla T4"}], "traceEvents": [\n'
    launch = json.dumps({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1,
                         "dur": 2})  # fmt: skip
    texts = _calls("aten::sort", "aten::sort", "aten::add")
    for content in (document(*texts, header=listed), document(*texts, launch)):
        with opened(content, tmp_path) as trace:
            assert findings("HST019", trace) == []


def test_operators_are_held_against_the_steps_where_these_are_known(tmp_path: Path) -> None:
    """Two steps of 6 ms with 4 ms of operators each, and a second without a step before them."""
    texts = [op("aten::empty", 0, dur=1)]
    for number, start in enumerate((1_000_000, 1_010_000)):
        texts.append(op(f"ProfilerStep#{number}", start, dur=6_000, cat="user_annotation"))
        texts.append(op("aten::sort", start + 100, dur=4_000))
    with opened(document(*texts), tmp_path) as trace:
        (finding,) = findings("HST019", trace)
    assert {"66.7 %", "12.0 ms"} <= set(figures(finding.summary))


def test_what_a_compiler_calls_is_no_operator_of_the_model(tmp_path: Path) -> None:
    compiling = [op("compile_fx (dynamo_timed)", 0, dur=9_000), op("aten::sort", 10, dur=8_000)]
    with opened(
        document(*compiling, op("aten::sort", 9_100, dur=100), op("aten::add", 9_900, dur=100)), tmp_path
    ) as trace:
        assert findings("HST019", trace) == []


def test_what_is_short_is_told(tmp_path: Path) -> None:
    texts = [op("aten::add", 20 * i, dur=15) for i in range(500)]
    with opened(document(*texts), tmp_path) as trace:
        (finding,) = findings("HST019", trace)
    assert {"100 %", "20.0 µs"} <= set(figures(finding.summary))
