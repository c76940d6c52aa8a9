"""What all tests share."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import browser
from series import ANEW, WHOLE, drawn
from stepscope.language.speech import of_locale
from stepscope.model.process.databases import keep_instances
from stepscope.model.sizes import SIZES
from support import STORES

# Expectations are English; a test that wants another language says so.
if of_locale(os.environ) != "en":
    os.environ["LC_ALL"] = "C.UTF-8"

#: Folders whose tests of small traces run on both sides of every switch on size; in a sample, one of so many tests
#: on that of the large.
_BOTH_SIDES = {"analyses": 32, "signals": 32, "ingest": 24, "store": 4}
#: Sizes at which the smallest trace is handled as a large one is.
LARGE = {
    "nested_events": 2,
    "threaded_events": 0,
    "joined_activities": 1,
    "concurrent_events": 1,
    "kept_bytes": 0,
    "kept_last": 0,
}
#: Instances of DuckDB that stay open for the next test, of each kind.
_INSTANCES = 4
#: Where files lie in memory, and the room that all tests may take there, with a margin.
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 6 << 30
#: Functions that open real recordings.
_REAL = {"shared", "recorded_trace"}

# No deadline: how long an example takes on a loaded machine says nothing of the code.
settings.register_profile("sample", max_examples=15, deadline=None, derandomize=True)
settings.register_profile("whole", max_examples=200, deadline=None, derandomize=not ANEW)
settings.load_profile("whole" if WHOLE else "sample")


def pytest_configure(config: pytest.Config) -> None:
    """Give all processes of a session one temporary folder, and one for stores of the shared recordings."""
    if STORES not in os.environ:
        folder = _in_memory()
        if folder is not None:
            config.add_cleanup(folder.cleanup)
            os.environ["TMPDIR"] = tempfile.tempdir = folder.name
        stores = tempfile.TemporaryDirectory(prefix="stepscope-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(stores.cleanup)
        os.environ[STORES] = stores.name
    # What is imported and collected stays: no cycles are looked for among a million objects.
    gc.disable()
    # To start an instance of DuckDB takes longer than most tests.
    keep_instances(_INSTANCES)


def _in_memory() -> tempfile.TemporaryDirectory[str] | None:
    """A temporary folder in memory: small files take a sixth of the processor time of tests on a disk.

    None where somebody has chosen a folder, or there is no room, or no place for the programs of tests.
    """
    if "TMPDIR" in os.environ or not _MEMORY.is_dir() or shutil.disk_usage(_MEMORY).free < _MEMORY_BYTES:
        return None
    # Containers often forbid to run programs from there.
    if os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC or not os.access(_MEMORY, os.W_OK):
        return None
    return tempfile.TemporaryDirectory(prefix="stepscope-tests-", dir=_MEMORY, ignore_cleanup_errors=True)


def pytest_collection_finish() -> None:
    """Look for cycles among what tests make from now on."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let the end of the process free what it made; libraries complain of what is left."""
    gc.unfreeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of small traces as they are, and all or a sample of them as if what they read were large."""
    parts = Path(str(metafunc.definition.path)).relative_to(Path(__file__).parent).parts
    # The step graph's own limits are tested where it is.
    named = set(metafunc.function.__code__.co_names)
    if parts[0] in _BOTH_SIDES and not _REAL & named and "stepgraph" not in parts:
        helpers = (getattr(getattr(metafunc.module, name, None), "__code__", None) for name in named)
        real = any(_REAL & set(code.co_names) for code in helpers if code is not None)
        large = WHOLE or (not real and drawn(metafunc.definition.nodeid, _BOTH_SIDES[parts[0]]))
        sides = ["small", pytest.param("large", marks=pytest.mark.series)]
        metafunc.parametrize("sizes", sides if large else sides[:1], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What hypothesis draws is a series."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.series)


@pytest.fixture(autouse=True)
def sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """The sizes that the test runs with: those of `SIZES`, unless it is asked for both sides."""
    with SIZES.changed(**(LARGE if getattr(request, "param", "small") == "large" else {})):
        yield


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    """One browser for all tests of a process."""
    program = browser.found()
    if program is None:
        pytest.skip("no Chromium or Chrome is installed (BROWSER_FOR_TESTS names another place)")
    with browser.opened(program, tmp_path_factory.mktemp("profile")) as running:
        yield running
