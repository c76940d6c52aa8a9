from __future__ import annotations

import pytest

from npu_support import host_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import npu_dispatch


def test_many_are_found() -> None:
    (draft,) = drafts("ASC013", {npu_dispatch.synced_norms: host_calls(40, 100, steps=2)})
    assert {"20"} <= set(figures(draft.summary))


def test_few_are_not() -> None:
    assert drafts("ASC013", {npu_dispatch.synced_norms: host_calls(39, 100, steps=2)}) == []


def test_other_devices_have_none() -> None:
    with pytest.raises(MissingInputError):
        drafts("ASC013", {})
