"""Pairs of simulated recordings: noise raises no alarm, and known changes are put down to what was changed."""

from __future__ import annotations

import pytest
from bench.comparison import (
    CHANGES,
    WITHIN_COMPUTE,
    alarms,
    changed_pair,
    noise_pair,
    share_of_part,
    share_within_compute,
)

from series import rounds, series


@pytest.mark.series
def test_noise_alone_raises_no_alarm() -> None:
    """At a confidence of 0.99 one alarm in 100 pairs is expected; two are allowed."""
    raised = [alarms(noise_pair(number)) for number in range(rounds(100, 1))]
    assert sum(differs for differs, _ in raised) <= 2
    assert sum(fails for _, fails in raised) <= 2


@pytest.mark.parametrize("change", series(CHANGES, 1))
def test_a_known_change_is_put_down_to_its_part(change: str) -> None:
    found = changed_pair(change)
    assert found.verdict == "slower"
    assert share_of_part(found, CHANGES[change][0]) == pytest.approx(1, abs=0.05)
    if change in WITHIN_COMPUTE:
        assert share_within_compute(found, *WITHIN_COMPUTE[change]) == pytest.approx(1, abs=0.05)
