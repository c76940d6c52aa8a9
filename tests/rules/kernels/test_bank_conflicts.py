from __future__ import annotations

import pytest

from counted_support import given
from rule_support import drafts
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend


def test_bank_conflicts() -> None:
    (draft,) = drafts("KRN020", given(bank_conflicts=0.2))
    assert "20.0 %" in draft.summary
    assert drafts("KRN020", given(bank_conflicts=0.199)) == []
    assert drafts("KRN020", given(0.019, bank_conflicts=0.5)) == []
    assert drafts("KRN020", given(l2_hit_rate=0.5)) == []


def test_bank_conflicts_of_an_npu_are_cycles_by_its_wording() -> None:
    (draft,) = drafts("KRN020", given(npu=True, bank_conflicts=0.15))
    assert "vector instructions" in draft.summary
    assert drafts("KRN020", given(npu=True, bank_conflicts=0.149)) == []


def test_without_counters_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN020", {ascend.recorded: False})
