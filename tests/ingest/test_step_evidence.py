"""What the loops' evidence counts at the edges of a call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepscope.ingest.derive.steps.evidence import within_one_call
from stepscope.store.staging import Staging


@pytest.mark.parametrize(
    ("starts", "inside"),
    [
        ((10, 20), True),  # what starts at the same tick of the clock as the call lies in it
        ((11, 20), True),
        ((9, 20), False),
        ((20, 30), False),  # what starts when the call ends follows it
        ((20, 29), True),
    ],
)
def test_a_call_contains_what_starts_from_its_start_to_before_its_end(
    tmp_path: Path, starts: tuple[int, int], inside: bool
) -> None:
    staging = Staging(tmp_path)
    staging.connection.execute("INSERT INTO tracks BY NAME SELECT 0 AS track, 'host' AS kind")
    staging.connection.execute("INSERT INTO raw_events VALUES (0, 10, 20, 0, 0, 'module', NULL, NULL)")
    assert within_one_call(staging, np.array(starts, np.int64)) is inside
