"""How observations of several ranks become one line."""

from __future__ import annotations

import pytest

from stepscope.reports.health import HealthLine
from stepscope.reports.sections.health import _line


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("events were read", "2 events were read (2 ranks)"),
        ("no steps are marked", "no steps are marked (2 ranks)"),
        ("the recording ends in the middle", "the recording ends in the middle (2 ranks)"),
        ("of a rank only the sums are at hand", "of a rank only the sums are at hand (2 ranks)"),
        ("3 options are off", "3 options are off (2 ranks)"),
        ("the profiler's level was level0", "the profiler's level was level0 (2 ranks)"),
    ],
)
def test_only_what_can_be_many_is_counted(message: str, said: str) -> None:
    assert _line([HealthLine("code", "info", message, "none", rank=rank) for rank in (0, 1)], True).text == said


@pytest.mark.parametrize(
    ("several", "said"), [(True, "5 events were repaired (rank 3)"), (False, "5 events were repaired")]
)
def test_what_one_of_several_ranks_has_names_it(several: bool, said: str) -> None:
    assert _line([HealthLine("code", "info", "events were repaired", "none", 5, rank=3)], several).text == said


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("steps are cut by the recording's start or end", "1 step is cut by the recording's start or end"),
        ("launches (4 %) have no device activity", "1 launch (4 %) has no device activity"),
        ("whatnots are broken", "whatnots are broken (1)"),
        ("no steps are marked", "no steps are marked"),
        ("how many ranks the job has is not recorded", "how many ranks the job has is not recorded"),
        ("what the recording says beside its events is broken", "what the recording says beside its events is broken"),
        ("op_statistic.csv is no JSON", "op_statistic.csv is no JSON"),
    ],
)
def test_wording_of_one(message: str, said: str) -> None:
    assert _line([HealthLine("code", "info", message, "none", 1)], False).text == said
