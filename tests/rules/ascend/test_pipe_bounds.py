from __future__ import annotations

import numpy as np
import pytest

from npu_support import npu_kernels
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_kernels as npu
from stepscope.signals.shared import job


def given(mac: float, mte2: float, dur: int = 100_000) -> dict[object, object]:
    ratios = {"aic_mac_ratio": np.full(2, mac), "aic_mte2_ratio": np.full(2, mte2)}
    return {npu.cores: npu_kernels(2, dur=dur), npu.pipes: ratios}


def test_kernels_that_keep_no_pipe_busy_are_found_and_priced() -> None:
    (draft,) = drafts("ASC007", given(0.2, 0.4))
    assert figures(draft.summary) == ["2", "40.0 %"]
    assert draft.change is not None
    assert [(part.events.tolist(), part.factor) for part in draft.change.device] == [([0, 1], 0.5)]


def test_kernels_that_mostly_move_data_are_advised() -> None:
    (draft,) = drafts("ASC007", {**given(0.2, 0.9), npu.cores: npu_kernels(2, core="MIX_AIV")})
    assert draft.change is None


def test_wording_names_the_cores() -> None:
    (draft,) = drafts("ASC007", {**given(0.2, 0.9), npu.cores: npu_kernels(2, core="MIX_AIV")})
    assert draft.title == "Vector kernels are bound by moving data"


def test_gemms_that_move_data_are_what_they_are() -> None:
    assert drafts("ASC007", given(0.2, 0.7)) == []


def test_busy_pipes_are_left_alone() -> None:
    assert drafts("ASC007", given(0.5, 0.3)) == []
    assert drafts("ASC007", {**given(0.2, 0.8999), npu.cores: npu_kernels(2, core="MIX_AIV")}) == []
    assert len(drafts("ASC007", given(0.4999, 0.3))) == 1


def test_short_kernels_are_left_out() -> None:
    assert drafts("ASC007", given(0.2, 0.4, dur=19_999)) == []


def test_rare_types_are_left_out() -> None:
    kernels = npu_kernels(2, dur=[20_000, 10_000_000], op_type=["Cast", "MatMulV2"])
    ratios = {"aic_mac_ratio": np.array([0.1, 0.9])}
    assert drafts("ASC007", {npu.cores: kernels, npu.pipes: ratios}) == []


def scalar(busy: float, other: float) -> dict[object, object]:
    ratios = {"aiv_scalar_ratio": np.full(2, busy), "aiv_vec_ratio": np.full(2, other), "aiv_mte2_ratio": np.zeros(2)}
    length = {job.recorded_ns: 250_000, job.recorded_steps: 1, job.spread: 1.0}
    return {npu.cores: npu_kernels(2, core="AI_VECTOR_CORE"), npu.pipes: ratios, **length}


def test_scalar_code_is_no_useful_work_by_its_wording() -> None:
    (draft,) = drafts("ASC007", scalar(0.999, 0.0))
    assert draft.title == "Kernels are bound by scalar code"
    assert figures(draft.summary) == ["0.0 %", "2", "80.0 %", "99.9 %"]
    assert (draft.taken_ns, draft.waiting, draft.change) == (200_000, True, None)
    (draft,) = drafts("ASC007", scalar(0.9, 0.4999))
    assert not draft.waiting


def test_scalar_units_that_feed_others_are_left_alone() -> None:
    assert drafts("ASC007", scalar(0.8999, 0.1)) == []
    assert drafts("ASC007", scalar(0.95, 0.5)) == []


def test_without_counters_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC007", {npu.cores: npu_kernels(2)})


@pytest.mark.parametrize(
    ("op_type", "word"), [("TransData", "allow_internal_format"), ("Cast", "allow_internal_format"), ("Mul", "")]
)
def test_conversions_are_to_be_avoided_and_others_to_be_fused(op_type: str, word: str) -> None:
    kernels = npu_kernels(2, core="MIX_AIV", op_type=[op_type] * 2)
    (draft,) = drafts("ASC007", {**given(0.2, 0.95), npu.cores: kernels})
    assert (word in draft.actions[0].after) if word else not draft.actions[0].after


@pytest.mark.parametrize(("name", "number"), [("ForeachAddList", 0), ("ApplyAdamW175", 0), ("Mul12", 1)])
def test_optimizers_move_data_by_nature(name: str, number: int) -> None:
    kernels = npu_kernels(2, core="MIX_AIV", name=[name] * 2, op_type=[name] * 2)
    assert len(drafts("ASC007", {**given(0.2, 0.95), npu.cores: kernels})) == number
