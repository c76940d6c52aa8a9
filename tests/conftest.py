"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.model.sizes import SIZES

#: Folders whose tests of small traces run on both sides of every switch on size.
_BOTH_SIDES = ("analyses", "ingest", "signals", "store")
#: Sizes at which the smallest trace is handled as a large one is.
LARGE = {"nested_events": 2, "joined_activities": 1, "concurrent_events": 1, "kept_bytes": 0}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of small traces once as they are, and once as if what they read were large."""
    parts = Path(str(metafunc.definition.path)).relative_to(Path(__file__).parent).parts
    # The step graph's own limits are tested where it is.
    small = "shared" not in metafunc.function.__code__.co_names
    if parts[0] in _BOTH_SIDES and small and "stepgraph" not in parts:
        metafunc.parametrize("sizes", ["small", "large"], indirect=True)


@pytest.fixture(autouse=True)
def sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """The sizes that the test runs with: those of `SIZES`, unless it is asked for both sides."""
    with SIZES.changed(**(LARGE if getattr(request, "param", "small") == "large" else {})):
        yield
