"""CONTRIBUTING.md names files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
_NAMED = re.compile(r"`((?:src|tests|bench|docs)/[\w./-]*[\w])`|\]\(([\w./-]+)\)")


def test_what_is_to_be_opened_is_there() -> None:
    named = {one or two for one, two in _NAMED.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))}
    assert len(named) > 30
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_each_kind_of_addition_names_its_code_tests_and_pages() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    kinds = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    titles = [kind.partition("\n")[0] for kind in kinds]
    assert titles == ["A rule", "An analysis", "A reader", "A text that users read", "An output"]
    for kind in kinds:
        assert all(f"`{place}/" in kind for place in ("src/stepscope", "tests", "docs")), kind
