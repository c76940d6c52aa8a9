from __future__ import annotations

import pytest

from rule_support import drafts, figures
from rules.memory.makeups import GIB, MIB, makeup, part
from stepscope.model.errors import MissingInputError
from stepscope.signals.snapshots import peak_makeup, peak_parts
from stepscope.signals.snapshots.peak_parts import PeakPart


def given(found: PeakPart | None) -> dict[object, object]:
    return {peak_parts.brief: found, peak_makeup.makeup: makeup(temporaries=6 * GIB, parameters=4 * GIB)}


def test_what_sets_the_peak_and_lives_briefly_is_found_with_the_peak_without_it() -> None:
    (draft,) = drafts("MEM016", given(part(6 * GIB, 10 * GIB, 5 * GIB)))
    assert {"10.0 GiB", "6.00 GiB", "60.0 %"} <= set(figures(draft.summary))
    assert {"40.0 %", "5.00 GiB", "60.0 %"} <= set(figures(draft.summary))


def test_where_other_moments_are_as_high_nothing_is_gained() -> None:
    assert drafts("MEM016", given(part(6 * GIB, 10 * GIB, 9 * GIB))) == []


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM016", given(part(249 * MIB, 1000 * MIB, 500 * MIB))) == []
    assert drafts("MEM016", given(part(2490 * MIB, 10_000 * MIB))) == []
    assert len(drafts("MEM016", given(part(2500 * MIB, 10_000 * MIB, 8500 * MIB)))) == 1
    assert drafts("MEM016", given(None)) == []


def test_without_a_history_it_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM016", {})
