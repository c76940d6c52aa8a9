from __future__ import annotations

import pytest

from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend, npu_dispatch
from stepscope.signals.shared import idleness


def given(idle: float, *, queue: bool = True, workspace: float = 0.0, **environment: str) -> dict[object, object]:
    return {
        idleness.waiting_for_host_share: idle,
        npu_dispatch.queued: queue,
        npu_dispatch.workspace_share: workspace,
        ascend.environment: environment,
    }


def settings(values: dict[object, object]) -> list[str]:
    return [
        action.after.partition("=")[0].split()[-1] for draft in drafts("ASC004", values) for action in draft.actions
    ]


def test_settings_that_are_not_in_force_are_named() -> None:
    assert settings(given(0.2)) == ["TASK_QUEUE_ENABLE", "CPU_AFFINITY_CONF"]
    assert drafts("ASC004", given(0.2, queue=False))[0].actions[0].before == "TASK_QUEUE_ENABLE=0"


def test_a_larger_cache_only_where_workspaces_take_time() -> None:
    assert "ACLNN_CACHE_LIMIT" in settings(given(0.2, workspace=0.01))
    assert "ACLNN_CACHE_LIMIT" not in settings(given(0.2, workspace=0.0099))
    assert "ACLNN_CACHE_LIMIT" not in settings(given(0.2, workspace=0.01, ACLNN_CACHE_LIMIT="100000"))
    assert "ACLNN_CACHE_LIMIT" in settings(given(0.2, workspace=0.01, ACLNN_CACHE_LIMIT="10000"))  # the default


def test_settings_in_force_are_left_alone() -> None:
    assert drafts("ASC004", given(0.2, TASK_QUEUE_ENABLE="2", CPU_AFFINITY_CONF="1")) == []


def test_a_device_that_does_not_wait_needs_none() -> None:
    assert drafts("ASC004", given(0.0999)) == []
    assert len(drafts("ASC004", given(0.1))) == 1


def test_without_the_runtimes_calls_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC004", {})
