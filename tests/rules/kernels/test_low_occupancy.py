from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.program import Program
from stepscope.signals.kernels.grid_coverage import UnderfilledKernels, sparse
from stepscope.signals.shared import job
from stepscope.signals.shared.program import program

ROW = {"name": "reduce", "blocks": 27.0, "fill": 0.25, "waves": 1.25, "tail": 0.375}


def given(of_step: float) -> dict[object, object]:
    found = UnderfilledKernels(np.array([3, 4]), np.array([600, 400]), np.full(2, 0.5), ("reduce",), (ROW,), of_step)
    return {sparse: found, job.recorded_steps: 1}


def test_long_kernels_of_few_blocks_are_found() -> None:
    (draft,) = drafts("KRN004", given(0.5))
    assert figures(draft.summary) == ["1.00 µs", "27", "75 %"]
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([3, 4], 0.5)]


def test_programs_with_kernels_of_their_own_launch_more_blocks() -> None:
    signals = {**given(0.5), program: Program(framework="native", platform="cuda", language="c++")}
    assert [action.page for action in drafts("KRN004", signals)[0].actions] == ["memory-access", "streams"]


def test_what_would_be_saved_decides() -> None:
    assert drafts("KRN004", given(0.04 - 0.0001)) == []
    assert len(drafts("KRN004", given(0.04))) == 1


def test_no_such_kernels_are_no_finding() -> None:
    nothing = np.zeros(0, np.int64)
    assert drafts("KRN004", {sparse: UnderfilledKernels(nothing, nothing, np.zeros(0), (), (), 0.0)}) == []


def test_without_kernels_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN004", {})


def test_batch_normalisation_has_as_many_blocks_as_channels_whatever_the_batch() -> None:
    row = {**ROW, "name": "void at::native::batch_norm_backward_kernel<float, float, int>(x)"}
    signals = given(0.5)
    signals[sparse] = replace(signals[sparse], rows=(row,))  # type: ignore[type-var]
    signals[program] = Program("training", "pytorch", "cuda", "python")
    (draft,) = drafts("KRN004", signals)
    assert "channels_last" in draft.actions[0].text
    assert "batch_norm_backward_kernel" in figures(draft.summary)
