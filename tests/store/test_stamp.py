"""Code that decides what is stored is part of what stores are named by."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.store import cache_settings
from stepscope.store.contents import contents_of
from stepscope.store.stamp import stamp_of


def write(package: Path, name: str, text: str) -> None:
    (package / name).parent.mkdir(parents=True, exist_ok=True)
    (package / name).write_text(text)


def test_every_source_counts_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "readers/one/a.py", "x = 1")
    write(tmp_path, "reports/b.py", "y = 1")
    parts = ("readers",)
    first = stamp_of(tmp_path, parts)
    write(tmp_path, "reports/b.py", "y = 2")
    write(tmp_path, "readers/one/__pycache__/a.pyc", "compiled")
    assert stamp_of(tmp_path, parts) == first
    write(tmp_path, "readers/one/a.py", "x = 2")
    second = stamp_of(tmp_path, parts)
    (tmp_path / "readers/one/a.py").rename(tmp_path / "readers/one/c.py")
    assert len({first, second, stamp_of(tmp_path, parts)}) == 3


def test_a_store_of_other_code_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text("[]")
    before = cache_settings.cache_key(contents_of(trace), "", "kineto", 1)
    monkeypatch.setattr(cache_settings, "code_stamp", lambda: "other")
    assert cache_settings.cache_key(contents_of(trace), "", "kineto", 1) != before
