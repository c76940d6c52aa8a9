from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.devices import match
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend
from stepscope.signals.communication import process_groups
from stepscope.signals.communication.process_groups import ProcessGroup
from stepscope.signals.shared import job


def given(count: int, platform: str = "cuda", device: str = "", **environment: str) -> dict[object, object]:
    return {
        process_groups.groups: tuple(ProcessGroup(str(i), "nccl", (0, 1, 2, 3), 5) for i in range(count)),
        job.platform: platform,
        job.device: match(device),
        ascend.environment: environment,
    }


def test_groups_with_the_same_ranks_are_found() -> None:
    (draft,) = drafts("COM007", given(4))
    assert {"4"} <= set(figures(draft.summary))
    assert draft.change is None
    assert draft.cost_ns is None


def test_three_are_not() -> None:
    assert drafts("COM007", given(3)) == []


def test_buffers_on_an_npu_are_counted_with_the_recorded_size() -> None:
    # 3 groups x 2 x 512 MiB are 3 of 64 GiB: 4.7 %.
    assert drafts("COM007", given(3, "npu", "Ascend910B2", HCCL_BUFFSIZE="512")) == []
    (draft,) = drafts("COM007", given(3, "npu", "Ascend910B2", HCCL_BUFFSIZE="1024"))
    assert {"3", "6.00 GiB", "9.4 %"} <= set(figures(draft.summary))
    assert "hccl_buffer_size" in draft.actions[0].after


def test_without_groups_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("COM007", {})
