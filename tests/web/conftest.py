"""Recordings that are opened and served once for all tests of the page: the demo's, and one of each format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from stepscope.demo import recording
from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace
from stepscope.simulate import SimJob, simulate
from web.serving import shown, viewed


@pytest.fixture(scope="session")
def demo_trace() -> Iterator[Trace]:
    with recording() as path, open_trace(path, Options(cache=False, locked=True)) as trace:
        yield trace


@pytest.fixture(scope="session")
def demo_page(demo_trace: Trace) -> Iterator[str]:
    """The address of its page."""
    with shown(demo_trace) as address:
        yield address


@pytest.fixture(scope="session")
def simulated_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Gives the address of the page of a job that reads a scalar in each step, by the format of its recording."""
    with ExitStack() as stack:

        @cache
        def served(kind: str) -> str:
            folder = tmp_path_factory.mktemp(kind)
            job = SimJob(steps=2, layers=1, **({"device": "ascend910b3", "ranks": 2} if kind == "ascend" else {}))
            simulate(job, folder / "job", kind, faults=() if kind == "memsnapshot" else ("item-sync",))
            return stack.enter_context(viewed(folder))

        yield served
