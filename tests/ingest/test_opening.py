"""From paths to an open trace: several recordings, unusable ones, progress, and the cache."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import duckdb
import pytest

from readers.conformance import assert_same, check_unusable, tables
from readers.kineto_text import document, op
from series import rounds, series
from stepscope.ingest import Inputs, Options, open_trace, reading, storing
from stepscope.model.errors import UnusableInputError, UserError
from stepscope.model.process.spill import spill_folder
from stepscope.model.sizes import SIZES
from stepscope.reports import html, markdown
from stepscope.reports.build import ReportOptions, build_report
from stepscope.store.cache import Cache
from stepscope.store.contents import FileFingerprint
from stepscope.store.layout import MANIFEST
from stepscope.store.locks import LOCK_FILE


def trace_text(rank: int | None = None, name: str = "aten::mm") -> bytes:
    header = '{"traceEvents": ['
    if rank is not None:
        header = f'{{"distributedInfo": {{"rank": {rank}, "world_size": 4}}, "traceEvents": ['
    return document(op(name), header=header).encode()


def codes(trace) -> list[str]:
    return [note[0] for note in trace.notes]


def test_many_recordings_are_many_ranks(tmp_path):
    (tmp_path / "a.json").write_bytes(trace_text(2, "two"))
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(trace_text(0, "zero")))
    with open_trace(tmp_path, Options(cache=False)) as trace:
        assert trace.ranks == (0, 2)
        assert trace.sql("SELECT rank, name FROM events ORDER BY rank").to_pylist() == [
            {"rank": 0, "name": "zero"}, {"rank": 2, "name": "two"}
        ]  # fmt: skip
        assert codes(trace) == ["ranks-missing"]


def test_an_unusable_recording_does_not_stop_the_others(tmp_path):
    (tmp_path / "a.json").write_bytes(trace_text(0))
    (tmp_path / "b.json").write_text('{"traceEvents": [{"ph": "M", "name": "x"}]}')
    with open_trace(tmp_path, Options(cache=False)) as trace:
        assert trace.ranks == (0,)
        assert "input-unusable" in codes(trace)


def test_nothing_usable_at_all(tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('{"traceEvents": []}')
    check_unusable(tmp_path)
    check_unusable(tmp_path / "a.json")


def test_processes_read_what_one_process_reads(tmp_path, monkeypatch):
    for rank in range(3):
        (tmp_path / f"{rank}.json").write_bytes(trace_text(rank))
    (tmp_path / "bad.json").write_text('{"traceEvents": [{}]}')
    with open_trace(tmp_path, Options(cache=False)) as trace:
        alone, notes = tables(trace), trace.notes
    monkeypatch.setattr(SIZES, "parallel_bytes", 0)
    with open_trace(tmp_path, Options(cache=False)) as trace:
        assert_same(alone, tables(trace))
        assert trace.notes == notes


@pytest.mark.parametrize("limits", [{"parallel_bytes": 0, "workers": 2}, {"workers": 1}], ids=["processes", "one"])
def test_several_inputs_are_read_side_by_side_and_opened_one_by_one(tmp_path, monkeypatch, limits):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, names in ((first, ("a", "b")), (second, ("c",))):
        folder.mkdir()
        for rank, name in enumerate(names):
            (folder / f"{rank}.json").write_bytes(trace_text(rank, name))
    (second / "bad.json").write_text('{"traceEvents": [{}]}')
    if limits["workers"] > 1:
        monkeypatch.setattr(storing.Stores, "_read_here", None)
    with SIZES.changed(**limits), Inputs([first, second, first], Options(cache=False)) as inputs:
        with inputs.open(1) as trace:
            assert trace.rows("SELECT name FROM events") == [{"name": "c"}]
            assert codes(trace) == ["input-unusable", "ranks-missing"]
        with inputs.open(0) as trace, inputs.open(2) as same:
            assert trace.ranks == same.ranks == (0, 1)
            assert codes(trace) == codes(same) == ["ranks-missing"]


def test_of_several_inputs_one_that_can_not_be_used_is_said_when_it_is_opened(tmp_path):
    (tmp_path / "good.json").write_bytes(trace_text())
    (tmp_path / "bad.json").write_text('{"traceEvents": [{"ph": "X", "name": "a"}]}')
    with Inputs([tmp_path / "bad.json", tmp_path / "good.json"], Options(cache=False)) as inputs:
        for _ in range(2):
            with pytest.raises(UnusableInputError, match="no event with a usable time"):
                inputs.open(0)
        inputs.open(1).close()


def test_the_second_time_nothing_is_read(tmp_path, monkeypatch):
    path = tmp_path / "trace.json"
    path.write_bytes(trace_text())
    options = Options(store=tmp_path / "store")
    with open_trace(path, options) as trace:
        first = tables(trace)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was read again")

    monkeypatch.setattr(reading, "read_recording", refuse)
    with open_trace(path, options) as trace:
        assert_same(first, tables(trace))
    path.write_bytes(trace_text(name="changed"))
    with pytest.raises(AssertionError, match="again"):
        open_trace(path, options)


def test_a_failure_leaves_no_half_written_store(tmp_path, monkeypatch):
    path = tmp_path / "trace.json"
    path.write_bytes(trace_text())

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("stepscope.ingest.derive.derive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        open_trace(path, Options(store=tmp_path / "store"))
    assert [path.name for path in (tmp_path / "store").iterdir()] == [LOCK_FILE]


def test_without_a_cache_nothing_is_left_behind(tmp_path, monkeypatch):
    spill_folder()  # which is of the process
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "trace.json").write_bytes(trace_text())
    trace = open_trace(tmp_path / "trace.json", Options(cache=False))
    assert os.listdir(tmp_path / "tmp")  # noqa: PTH208 - names only
    trace.close()
    del trace
    assert not os.listdir(tmp_path / "tmp")  # noqa: PTH208


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list open files")
def test_closed_traces_hold_no_files(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(trace_text())

    def opened() -> int:
        for _ in range(2):
            open_trace(path, Options(cache=False)).close()
            open_trace(path, Options(store=tmp_path / "store")).close()
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only

    assert opened() == opened()


def test_progress_of_an_archive_counts_each_member_once(tmp_path):
    path = tmp_path / "job.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for rank in range(3):
            archive.writestr(f"{rank}.json", trace_text(rank))
    seen: list[tuple[int, int]] = []
    open_trace(path, Options(cache=False, report=lambda _, done, total: seen.append((done, total)))).close()
    assert {total for _, total in seen} == {3 * len(trace_text(0))}


def test_progress_adds_up_to_the_size(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(trace_text() * 1)
    seen: list[tuple[int, int]] = []
    open_trace(path, Options(cache=False, report=lambda _, done, total: seen.append((done, total)))).close()
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_cache_that_cannot_be_written_is_said_and_done_without(tmp_path):
    (tmp_path / "trace.json").write_bytes(trace_text())
    (tmp_path / "file").write_text("in the way")
    said: list[str] = []
    store = tmp_path / "file" / "store"
    with open_trace(tmp_path / "trace.json", Options(store=store, say=said.append)) as trace:
        assert trace.scalar("SELECT count(*) FROM events") == 1
        assert trace.notes == ()
    assert said == [f"{store} can't be written (Not a directory): what is read now is not kept"]


def test_no_room_anywhere_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "trace.json").write_bytes(trace_text())

    def full(*_: object, **__: object) -> None:
        raise duckdb.IOException('IO Error: Could not write to file "x": No space left on device')

    monkeypatch.setattr(reading, "read_recording", full)
    with pytest.raises(UserError, match=r"^there is no room for what is read: .* can't be written \(No space left"):
        open_trace(tmp_path / "trace.json", Options(store=tmp_path / "store", say=lambda _: None))
    assert [path.name for path in (tmp_path / "store").iterdir()] == [LOCK_FILE]


@pytest.mark.parametrize("parallel", series([False, True], 1))
def test_a_recording_that_changes_while_it_is_read(tmp_path, monkeypatch, parallel):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for rank, path in enumerate(paths):
        path.write_bytes(trace_text(rank))
    options = Options(store=tmp_path / "store")
    known = storing.contents_of

    def grows_meanwhile(path: Path) -> FileFingerprint:
        contents = known(path)
        if path == paths[1] and contents.status[0][1] == len(trace_text(1)):
            path.write_bytes(trace_text(1) + b" ")
        return contents

    monkeypatch.setattr(storing, "contents_of", grows_meanwhile)
    if parallel:
        monkeypatch.setattr(SIZES, "parallel_bytes", 0)
    with open_trace(paths, options) as trace:
        assert trace.ranks == (0, 1)
        [note] = [note for note in trace.notes if note[0] == "input-changed"]
        assert note[1:4] == ("warning", 1, "b.json changed while it was read")
        assert len(Cache(tmp_path / "store").entries()) == 1
    with open_trace(paths, options) as trace:
        assert "input-changed" not in codes(trace)
    assert len(Cache(tmp_path / "store").entries()) == 2


@pytest.mark.parametrize("inside", [False, True], ids=["rows", "footer"])
def test_a_store_whose_files_do_not_hold_what_was_written_is_read_anew(tmp_path, inside):
    path = tmp_path / "trace.json"
    path.write_bytes(trace_text())
    options = Options(store=tmp_path / "store")
    open_trace(path, options).close()
    [names] = (tmp_path / "store").rglob("names.parquet")
    if inside:
        data = bytearray(names.read_bytes())
        data[-60:-8] = bytes(52)
        names.write_bytes(data)
    else:
        manifest = names.parent / MANIFEST
        document = json.loads(manifest.read_text())
        document["files"]["names.parquet"]["rows"] += 1
        manifest.write_text(json.dumps(document))
    with open_trace(path, options) as trace:
        assert trace.rows("SELECT name FROM events") == [{"name": "aten::mm"}]
    assert len(Cache(tmp_path / "store").entries()) == 1


@pytest.mark.series
def test_many_processes_may_fill_clear_and_use_one_cache(tmp_path):
    for rank in range(2):
        (tmp_path / f"{rank}.json").write_bytes(trace_text(rank))
    code = (
        "import sys\nfrom pathlib import Path\nfrom stepscope.ingest import Options, open_trace\n"
        "from stepscope.store.cache import Cache\nroot = Path(sys.argv[1]) / 'store'\n"
        "for _ in range(int(sys.argv[2])):\n"
        "    with open_trace(sys.argv[1], Options(store=root)) as trace:\n"
        "        Cache(root, limit=0).evict()\n        Cache(root).clear()\n"
        "        assert trace.scalar('SELECT count(*) FROM events') == 2, trace.rows('FROM events')\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path), str(rounds(6, 4))]
    runs = [subprocess.Popen(command) for _ in range(rounds(4, 2))]
    assert [run.wait(120) for run in runs] == [0] * len(runs)
    Cache(tmp_path / "store").clear()
    assert [path.name for path in (tmp_path / "store").iterdir()] == [LOCK_FILE]


def test_errors_keep_what_they_say_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(UnusableInputError("what", hint="do")))
    assert (error.message, error.hint, error.exit_code, str(error)) == ("what", "do", 2, "what; do")


def test_of_several_that_can_not_be_used_each_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"traceEvents": [{"ph": "X", "name": "no time"}]}')
    (tmp_path / "b.json").write_text('{"schemaVersion": 1, "traceEvents": []}')
    (tmp_path / "c.json.gz").write_bytes(b"\x1f\x8b\x08 is all there is")
    with pytest.raises(UserError) as error:
        open_trace(tmp_path, Options(cache=False))
    message = str(error.value)
    assert message.startswith("none of 3 recordings can be used: ")
    for name in ("a.json", "b.json", "c.json.gz"):
        assert str(tmp_path / name) in message


def test_what_can_not_be_read_is_named_beside_what_can(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(document(op()))
    (tmp_path / "c.json.gz").write_bytes(b"\x1f\x8b\x08 is all there is")
    with open_trace(tmp_path, Options(cache=False)) as trace:
        [(_, severity, _, message, _)] = [note for note in trace.notes if note[0] == "input-unusable"]
        assert severity == "error"
        assert message.startswith(f"{tmp_path / 'c.json.gz'} is damaged, and nothing in it can be read")


def test_names_that_are_no_utf8_are_names_like_others(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / os.fsdecode(b"rank0_\xe9.json")).write_text(document(op()))
    (folder / os.fsdecode(b"notes_\xff.txt")).write_text("nothing")
    for cache in (False, True):
        with open_trace(folder, Options(cache=cache, store=tmp_path / "store")) as trace:
            assert trace.scalar("SELECT count(*) FROM events") == 1
            report = build_report(trace, ReportOptions(tables=("step_budget",)))
        json.dumps(report.to_json()).encode()
        for text in (markdown.text(report), "".join(html.content(report))):
            text.encode()
