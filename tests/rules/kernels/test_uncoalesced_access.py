from __future__ import annotations

import pytest

from counted_support import given
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend


@pytest.mark.parametrize(
    ("values", "stated"),
    [
        ({"excessive_sectors": 0.5}, "50.0 %"),
        ({"bytes_per_sector_load": 16.0}, "16.0"),
        ({"bytes_per_sector_store": 4.0}, "4.0"),
        ({"sectors_per_load": 31.9}, "31.9"),
    ],
)
def test_sectors_that_are_fetched_for_nothing(values: dict[str, float], stated: str) -> None:
    (draft,) = drafts("KRN019", given(**values))
    assert stated in " ".join(figures(draft.summary)) or stated in draft.summary
    assert (draft.taken_ns, draft.events.tolist(), draft.change) == (1_000_000, [7, 8], None)
    assert drafts("KRN019", given(0.0199, **values)) == []


@pytest.mark.parametrize(
    "values", [{"excessive_sectors": 0.499}, {"bytes_per_sector_load": 16.1}, {"sectors_per_load": 16.0}, {}]
)
def test_sectors_that_wide_accesses_fill_are_left_alone(values: dict[str, float]) -> None:
    assert drafts("KRN019", given(**values)) == []


def test_without_counters_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN019", {ascend.recorded: False})
