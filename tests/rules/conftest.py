"""Whatever a rule says in its tests is told in Chinese, too, with no English left but names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rule_support import RULES_OF, drafts_made, untold


@pytest.fixture(autouse=True)
def told_in_chinese(request: pytest.FixtureRequest) -> Iterator[None]:
    """Look at what rules say where a test of a rule is over; those of the engine make findings of their own."""
    if Path(request.path).parent == RULES_OF:
        yield
        return
    with drafts_made() as made:
        yield
    assert untold(made) == {}
