"""From paths to an open trace: several recordings, unusable ones, progress, and the cache."""

from __future__ import annotations

import gzip
import os

import pytest

from readers.conformance import assert_same, check_unusable, tables
from readers.kineto_text import document, op
from stepscope.ingest import Options, open_trace, opening, reading
from stepscope.ingest.ranks import assign_ranks
from stepscope.model.errors import UnusableInputError, UserError
from stepscope.model.recording import Recording


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
    monkeypatch.setattr(opening, "_PARALLEL_BYTES", 0)
    with open_trace(tmp_path, Options(cache=False)) as trace:
        assert_same(alone, tables(trace))
        assert trace.notes == notes


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
    assert list((tmp_path / "store").iterdir()) == []


def test_without_a_cache_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "trace.json").write_bytes(trace_text())
    trace = open_trace(tmp_path / "trace.json", Options(cache=False))
    assert os.listdir(tmp_path / "tmp")  # noqa: PTH208 - names only
    trace.close()
    del trace
    assert not os.listdir(tmp_path / "tmp")  # noqa: PTH208


def test_progress_adds_up_to_the_size(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(trace_text() * 1)
    seen: list[tuple[int, int]] = []
    open_trace(path, Options(cache=False, report=lambda _, done, total: seen.append((done, total)))).close()
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_store_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "trace.json").write_bytes(trace_text())
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="can't be written"):
        open_trace(tmp_path / "trace.json", Options(store=tmp_path / "file" / "store"))


@pytest.mark.parametrize(
    ("recorded", "sources", "ranks", "codes"),
    [
        ([1, 0], ["a", "b"], [1, 0], []),
        ([None], ["rank5.json"], [0], []),
        ([None, None], ["run/rank1.json", "run/rank0.json"], [1, 0], ["rank-unknown"]),
        ([None, None], ["worker3_step_12.1694.json", "worker4_step_12.1694.json"], [3, 4], ["rank-unknown"]),
        ([None, None], ["x.json", "y.json"], [0, 1], ["rank-unknown"]),
        ([0, 0, 1], ["a", "b", "c"], [0, 2, 1], ["rank-conflict"]),
        ([-1, 2**40], ["a", "b"], [0, 1], []),
        ([None, 1], ["rank1.json", "b"], [1, 0], ["rank-conflict", "rank-unknown"]),
    ],
)
def test_ranks(recorded, sources, ranks, codes):
    recordings = [Recording(source, "kineto", rank) for rank, source in zip(recorded, sources, strict=True)]
    found, notes = assign_ranks(recordings)
    assert sorted(found) == sorted(ranks)
    assert [note[0] for note in notes] == codes
    assert found == ranks


def test_errors_keep_what_they_say_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(UnusableInputError("what", hint="do")))
    assert (error.message, error.hint, error.exit_code, str(error)) == ("what", "do", 2, "what; do")
