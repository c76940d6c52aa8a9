from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels import zeroing
from stepscope.signals.kernels.zeroing import Zeroed


def given(operators: int, steps: int = 2) -> dict[object, object]:
    found = Zeroed(np.arange(operators), np.arange(operators) + 100, steps, "Optimizer.zero_grad#SGD.zero_grad")
    return {zeroing.zeroed: found}


def test_zeroing_operators_are_found_and_priced_with_their_kernels() -> None:
    (draft,) = drafts("MEM007", given(8))
    assert {"4"} <= set(figures(draft.summary))
    assert "set_to_none=True" in draft.actions[0].after
    assert draft.change is not None
    assert draft.change.device[0].events.tolist() == list(range(100, 108))
    assert draft.change.host[0].events.tolist() == list(range(8))


@pytest.mark.parametrize(("annotated", "table"), [(True, "annotations"), (False, "operators")])
def test_its_row_is_where_the_recording_has_the_range(annotated: bool, table: str) -> None:
    found = Zeroed(np.arange(8), np.arange(8), 2, "Optimizer.zero_grad#SGD.zero_grad", annotated)
    (draft,) = drafts("MEM007", {zeroing.zeroed: found})
    assert draft.rows == ({"table": table, "where": {"name": found.name}},)


def test_less_than_one_per_step_is_not() -> None:
    assert drafts("MEM007", given(1)) == []
    assert len(drafts("MEM007", given(2))) == 1


def test_without_an_optimizer_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM007", {})
