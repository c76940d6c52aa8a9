"""The demo's recording, opened once for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stepscope.demo import recording
from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace
from web.serving import shown


@pytest.fixture(scope="session")
def demo_trace() -> Iterator[Trace]:
    with recording() as path, open_trace(path, Options(cache=False, locked=True)) as trace:
        yield trace


@pytest.fixture(scope="session")
def demo_page(demo_trace: Trace) -> Iterator[str]:
    """The address of its page."""
    with shown(demo_trace) as address:
        yield address
