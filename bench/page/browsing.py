"""A browser for the measurements of the page: the one that its tests use."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

_TESTS: Final = Path(__file__).resolve().parents[2] / "tests"


@contextmanager
def opened_browser() -> Iterator[Any]:
    """A browser with a profile of its own; what its tests use can be imported meanwhile."""
    sys.path.insert(0, str(_TESTS))
    import browser

    program = browser.found()
    assert program is not None, "there is no browser"
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        browser.opened(program, Path(profile)) as running,
    ):
        yield running
