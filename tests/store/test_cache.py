"""The cache of read recordings: keys, use by several processes, eviction, damage, and what a crash leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from stepscope.model.errors import UserError
from stepscope.store.cache import Cache
from stepscope.store.cache_settings import cache_key
from stepscope.store.contents import contents_of
from stepscope.store.failures import CannotStoreError
from stepscope.store.layout import MANIFEST, VERSION
from stepscope.store.locks import LOCK_FILE
from stepscope.store.manifest import is_whole, read_manifest

OLD, USED, YOUNG, HUGE = (digit * 32 for digit in "abcd")


def write(folder: Path, source: str, size: int = 1000) -> None:
    """A store whose only file has so many bytes; its content does not matter to the cache."""
    files = {"data.parquet": {"bytes": size, "rows": 1}}
    manifest = {"version": VERSION, "recording": {"source": source, "reader": "test"}, "files": files}
    (folder / "data.parquet").write_bytes(b"x" * size)
    (folder / MANIFEST).write_text(json.dumps(manifest))


def fill(cache: Cache, key: str, size: int = 1000) -> None:
    with cache.writing(key) as folder:
        write(folder, key, size)
    cache.release()


def listed(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.name != LOCK_FILE)


def elsewhere(root: Path, code: str) -> str:
    """What another process prints that has a cache of the same folder."""
    text = f"from pathlib import Path\nfrom stepscope.store.cache import Cache\ncache = Cache(Path({str(root)!r}))\n"
    done = subprocess.run([sys.executable, "-c", text + code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_what_is_written_is_taken(tmp_path):
    cache = Cache(tmp_path)
    assert cache.take(OLD) is None
    fill(cache, OLD)
    assert cache.take(OLD) == tmp_path / OLD
    assert [entry.source for entry in cache.entries()] == [OLD]


def test_a_block_that_fails_leaves_nothing(tmp_path):
    cache = Cache(tmp_path)

    def fail(error: Exception) -> None:
        with cache.writing(OLD) as folder:
            (folder / "data").write_bytes(b"half")
            raise error

    with pytest.raises(ValueError, match="wrong"):
        fail(ValueError("wrong"))
    with pytest.raises(CannotStoreError, match="No space left on device"):
        fail(OSError(28, "No space left on device"))
    with pytest.raises(CannotStoreError, match="No space left on device"):
        fail(duckdb.IOException('IO Error: Could not write file "/x": No space left on device'))
    assert listed(tmp_path) == []


def test_the_least_recently_used_goes_first_but_never_what_is_used(tmp_path):
    for age, key in ((30, OLD), (20, USED), (10, YOUNG)):
        fill(Cache(tmp_path, limit=2**40), key)
        moment = time.time() - age
        os.utime(tmp_path / key / MANIFEST, (moment, moment))
    cache = Cache(tmp_path, limit=2_900)
    assert cache.take(OLD) is not None
    elsewhere(tmp_path, "cache.limit = 2900; cache.evict()")
    assert listed(tmp_path) == [OLD, YOUNG]
    cache.release()
    fill(Cache(tmp_path, limit=10), HUGE, 5_000)
    assert listed(tmp_path) == [HUGE]


def test_what_another_process_uses_stays(tmp_path):
    cache = Cache(tmp_path)
    fill(cache, OLD)
    taken = cache.take(OLD)
    clear = "done = cache.clear(); print(done.removed, done.used)"
    assert elsewhere(tmp_path, clear) == "0 1"
    assert taken is not None
    assert is_whole(taken)
    cache.release()
    assert elsewhere(tmp_path, clear) == "1 0"
    assert listed(tmp_path) == []


def test_who_is_late_takes_what_is_there(tmp_path):
    slow, quick = Cache(tmp_path), Cache(tmp_path)
    with slow.writing(OLD) as folder:
        write(folder, "slow")
        with quick.writing(OLD) as other:
            write(other, "quick")
        used = quick.take(OLD)
    assert slow.take(OLD) == used == tmp_path / OLD
    assert read_manifest(tmp_path / OLD).source == "quick"
    assert listed(tmp_path) == [OLD]


@pytest.mark.parametrize(
    "damage",
    [
        lambda store: (store / "data.parquet").unlink(),
        lambda store: os.truncate(store / "data.parquet", 10),
        lambda store: os.truncate(store / MANIFEST, 40),
        lambda store: (store / MANIFEST).unlink(),
        lambda store: (store / MANIFEST).write_text("[" * 100_000),
        lambda store: (store / "events-x.parquet").write_bytes(b"one too many"),
    ],
)
def test_a_damaged_store_is_written_anew(tmp_path, damage):
    fill(Cache(tmp_path), OLD)
    damage(tmp_path / OLD)
    cache = Cache(tmp_path)
    assert cache.take(OLD) is None
    fill(cache, OLD)
    assert cache.take(OLD) == tmp_path / OLD
    assert is_whole(tmp_path / OLD)


def test_a_damaged_store_that_is_used_is_left_and_another_one_used_once(tmp_path):
    user = Cache(tmp_path)
    fill(user, OLD)
    assert user.take(OLD) is not None
    (tmp_path / OLD / "data.parquet").unlink()
    other = Cache(tmp_path)
    with other.writing(OLD) as folder:
        write(folder, "other")
    taken = other.take(OLD)
    assert taken is not None
    assert taken != tmp_path / OLD
    assert elsewhere(tmp_path, "cache.evict(); cache.clear()") == ""
    assert is_whole(taken)
    other.release()
    assert listed(tmp_path) == [OLD]


def test_what_is_not_to_be_kept_is_used_once(tmp_path):
    cache = Cache(tmp_path)
    with cache.writing(OLD, keep=lambda: False) as folder:
        write(folder, "changing")
    taken = cache.take(OLD)
    assert taken is not None
    assert Cache(tmp_path).take(OLD) is None
    cache.release()
    assert listed(tmp_path) == []


def test_leftovers_of_killed_processes_are_removed_and_nothing_of_others(tmp_path):
    killed = "import os, signal\nwith cache.writing('e' * 32):\n    os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(subprocess.CalledProcessError):
        elsewhere(tmp_path, killed)
    assert len(listed(tmp_path)) == 1
    for name in ("tmp-mine", "notes", "manifests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / MANIFEST).write_text("{}")
    cache = Cache(tmp_path)
    with cache.writing(OLD) as folder:
        cache.evict()
        assert folder.exists()
        write(folder, OLD)
    assert cache.clear().removed == 0
    cache.release()
    assert listed(tmp_path) == [OLD, "manifests", "notes", "tmp-mine"]
    assert cache.clear().removed == 1
    assert listed(tmp_path) == ["manifests", "notes", "tmp-mine"]


def test_a_cache_that_cannot_be_written_is_used(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    fill(Cache(tmp_path), OLD)
    (tmp_path / LOCK_FILE).unlink()
    tmp_path.chmod(0o555)
    try:
        cache = Cache(tmp_path)
        assert cache.take(OLD) is not None
        cache.release()
        assert cache.clear().refused == 1
    finally:
        tmp_path.chmod(0o755)


def test_the_key_changes_with_all_that_matters(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(b"a" * 200_000)

    def key(member: str = "", reader: str = "kineto", version: int = 1) -> str:
        return cache_key(contents_of(path), member, reader, version)

    first = key()
    assert key() == first
    assert len({first, key(member="member"), key(version=2), key(reader="other")}) == 4


@pytest.mark.parametrize("size", [300_000, 5_000_000])
def test_contents_of_the_same_size_and_time_are_told_apart(tmp_path, size):
    path = tmp_path / "trace.json"
    path.write_bytes(b"a" * size)
    before = contents_of(path)
    status = path.stat()
    with path.open("r+b") as opened:
        opened.seek(size // 2)
        opened.write(b"b")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert not before.are_unchanged()
    assert contents_of(path).digest != before.digest


def test_all_files_of_a_folder_count(tmp_path):
    inner = tmp_path / "PROF" / "kernel_details.csv"
    inner.parent.mkdir()
    inner.write_bytes(b"a" * 1000)
    before = contents_of(tmp_path)
    status = inner.stat()
    inner.write_bytes(b"a" * 500 + b"b" * 500)
    os.utime(inner, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert contents_of(tmp_path).digest != before.digest
    changed = contents_of(tmp_path)
    inner.rename(tmp_path / "kernel_details.csv")
    assert contents_of(tmp_path).digest != changed.digest


@pytest.mark.parametrize("text", ["", "{}", '{"version": 0}', '{"version": 1, "recording": {"x": 1}}', "\x80"])
def test_what_is_no_store_is_one_sentence(text, tmp_path):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(UserError) as error:
        read_manifest(tmp_path)
    assert "\n" not in str(error.value)


def test_the_folder_is_measured_again_only_when_half_of_the_room_is_written(tmp_path, monkeypatch):
    cache = Cache(tmp_path, limit=100_000)
    measured: list[int] = []
    evict = cache.evict
    monkeypatch.setattr(cache, "evict", lambda: (measured.append(1), evict())[1])
    for key in (OLD, USED, YOUNG):
        fill(cache, key)
    assert len(measured) == 1
    fill(cache, HUGE, 60_000)
    assert len(measured) == 2
