"""The cache of read recordings: keys, eviction, and what a crash leaves."""

from __future__ import annotations

import json
import os
import time

import pytest

from stepscope.model.errors import UserError
from stepscope.store.cache import Cache, cache_key
from stepscope.store.layout import MANIFEST, VERSION
from stepscope.store.opening import read_manifest


def fill(cache: Cache, key: str, size: int = 1000) -> None:
    with cache.writing(key) as folder:
        manifest = {"version": VERSION, "recording": {"source": key, "reader": "test"}}
        (folder / MANIFEST).write_text(json.dumps(manifest))
        (folder / "data").write_bytes(b"x" * size)


def test_what_is_written_is_found(tmp_path):
    cache = Cache(tmp_path)
    assert cache.find("a") is None
    fill(cache, "a")
    assert cache.find("a") == tmp_path / "a"
    assert [entry.source for entry in cache.entries()] == ["a"]


def test_a_block_that_fails_leaves_nothing(tmp_path):
    cache = Cache(tmp_path)

    def fail() -> None:
        with cache.writing("a") as folder:
            (folder / "data").write_bytes(b"half")
            raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_the_least_recently_used_goes_first_but_never_the_newest(tmp_path):
    cache = Cache(tmp_path, limit=2_500)
    for age, key in ((30, "old"), (20, "used"), (10, "young")):
        fill(Cache(tmp_path, limit=2**40), key)
        moment = time.time() - age
        os.utime(tmp_path / key / MANIFEST, (moment, moment))
    assert cache.find("old") is not None
    cache.evict()
    assert sorted(entry.source for entry in cache.entries()) == ["old", "young"]
    fill(Cache(tmp_path, limit=10), "huge", 5_000)
    assert [entry.source for entry in cache.entries()] == ["huge"]


def test_leftovers_of_dead_processes_are_removed_later(tmp_path):
    cache = Cache(tmp_path)
    for name, age in (("tmp-fresh", 0), ("tmp-stale", 2 * 24 * 3600)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age, time.time() - age))
    cache.evict()
    assert [path.name for path in tmp_path.iterdir()] == ["tmp-fresh"]
    assert cache.clear() == 0
    assert list(tmp_path.iterdir()) == []


def test_the_key_changes_with_all_that_matters(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(b"a" * 200_000)
    first = cache_key(path, "", "kineto", 1)
    assert cache_key(path, "", "kineto", 1) == first
    assert cache_key(path, "member", "kineto", 1) != first
    assert cache_key(path, "", "kineto", 2) != first
    assert cache_key(path, "", "other", 1) != first
    status = path.stat()
    path.write_bytes(b"a" * 199_999 + b"b")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cache_key(path, "", "kineto", 1) != first


@pytest.mark.parametrize("text", ["", "{}", '{"version": 0}', '{"version": 1, "recording": {"x": 1}}', "\x80"])
def test_what_is_no_store_is_one_sentence(text, tmp_path):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(UserError) as error:
        read_manifest(tmp_path)
    assert "\n" not in str(error.value)
