"""A thousand random jobs: every split adds up to the nanosecond."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.conformance import check_splits, open_fresh
from series import series
from stepscope.simulate import random_job, simulate

_JOBS = 1000
_BATCH = 5


@pytest.mark.parametrize("first", series(range(0, _JOBS, _BATCH), 1))
def test_every_split_adds_up(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + _BATCH):
        for path in simulate(random_job(seed), tmp_path / f"{seed}.json")[:1]:
            with open_fresh(path) as trace:
                check_splits(trace)
            path.unlink()
