from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_totals
from stepscope.signals.ascend.npu_totals import Total


def given(ns: int, name: str = "aclrtMalloc") -> dict[object, object]:
    return {
        npu_totals.calls: (Total(name, "acl", 3, ns, 4_000_000), Total("aclrtFree", "acl", 1, 1_000_000, 1_000_000))
    }


def test_calls_for_memory_are_added_up() -> None:
    (draft,) = drafts("ASC015", given(9_000_000))
    assert {"10.0 ms", "4"} <= set(figures(draft.summary))


def test_less_is_what_every_job_needs_and_host_memory_is_another_matter() -> None:
    assert drafts("ASC015", given(8_999_999)) == []
    assert drafts("ASC015", given(20_000_000, "aclrtMallocHost")) == []


def test_without_totals_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC015", {})
