from __future__ import annotations

import pytest

from npu_support import npu_kernels
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_kernels as npu
from stepscope.signals.shared import job


def given(blocks: int, dur: int = 100_000, step: int = 1_000_000) -> dict[object, object]:
    return {npu.cores: npu_kernels(4, blocks=blocks, dur=dur), npu.units: {"AI_CORE": 24}, job.step_ns: step}


def test_one_block_too_many_is_found_and_priced() -> None:
    (draft,) = drafts("ASC006", given(25))
    assert {"4", "52.1 %"} <= set(figures(draft.summary))
    assert "MatMulV2" in draft.summary
    assert draft.change is not None
    assert [(part.events.size, part.factor) for part in draft.change.device] == [(4, 0.52)]


def test_the_longest_kernels_are_shown() -> None:
    kernels = npu_kernels(3, blocks=25, dur=[100_000, 300_000, 200_000], name=["a", "b", "c"])
    (draft,) = drafts("ASC006", {**given(25), npu.cores: kernels})
    assert draft.events.tolist() == [1, 2, 0]
    assert draft.rows[0]["where"] == {"name": "b"}


def test_even_blocks_and_nearly_even_ones_are_not() -> None:
    assert drafts("ASC006", given(48)) == []
    assert drafts("ASC006", given(20)) == []
    assert len(drafts("ASC006", given(19))) == 1


def test_single_blocks_and_short_kernels_are_left_out() -> None:
    assert drafts("ASC006", given(1)) == []
    assert drafts("ASC006", given(25, dur=19_999)) == []


def test_little_loss_is_not_reported() -> None:
    assert drafts("ASC006", given(25, step=20_000_000)) == []


def test_without_the_number_of_cores_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC006", {**given(25), npu.units: {}})
