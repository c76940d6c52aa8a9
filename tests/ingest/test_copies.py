"""A folder that holds the same recording in several files is one recording."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from readers.xplane.xspaces import jax_job
from stepscope.ingest import Options, open_trace
from stepscope.ingest.recognise import holds, recognise

CHROME = gzip.compress(json.dumps({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1}]}).encode())
TIME = "plugins/profile/2026_11_29_20_41_11"


def written(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / TIME / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jax_job() if ".xplane.pb" in name else CHROME)
    return folder


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["vm.xplane.pb", "vm.trace.json.gz", "perfetto_trace.json.gz"], ["vm.xplane.pb"]),
        (["vm.xplane.pb", "vm.trace.json"], ["vm.xplane.pb"]),
        (["vm.trace.json.gz", "perfetto_trace.json.gz"], ["vm.trace.json.gz"]),
        (["perfetto_trace.json.gz"], ["perfetto_trace.json.gz"]),
        (["a.xplane.pb", "a.trace.json.gz", "b.xplane.pb"], ["a.xplane.pb", "b.xplane.pb"]),
        (["a.xplane.pb", "b.trace.json.gz"], ["a.xplane.pb", "b.trace.json.gz"]),
    ],
)
def test_of_files_with_the_same_recording_the_whole_one_is_read(
    names: list[str], kept: list[str], tmp_path: Path
) -> None:
    found = recognise([written(tmp_path, *names)])
    assert [source.path.name for source, _ in found.sources] == kept
    assert sorted(source.path.name for source in found.copies) == sorted(set(names) - set(kept))


def test_it_is_told_and_no_result_is_written_over_them(tmp_path: Path) -> None:
    written(tmp_path, "vm.xplane.pb", "vm.trace.json.gz", "perfetto_trace.json.gz")
    trace = open_trace(tmp_path, Options(cache=False))
    assert [recording.reader for recording in trace.recordings.values()] == ["xplane"]
    (line,) = [note for note in trace.notes if note[0] == "recording-repeated"]
    assert line[2] == 2
    assert "perfetto_trace.json.gz among them" in line[3]
    assert holds([tmp_path], tmp_path / TIME / "vm.trace.json.gz")


def test_in_an_archive_too(tmp_path: Path) -> None:
    written(tmp_path / "job", "vm.xplane.pb", "vm.trace.json.gz")
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
        for path in (tmp_path / "job" / TIME).iterdir():
            archive.write(path, f"{TIME}/{path.name}")
    found = recognise([tmp_path / "job.zip"])
    assert [source.member for source, _ in found.sources] == [f"{TIME}/vm.xplane.pb"]


def test_hosts_are_ranks_and_folders_of_other_times_are_runs(tmp_path: Path) -> None:
    written(tmp_path, "a.xplane.pb", "a.trace.json.gz", "b.xplane.pb", "b.trace.json.gz")
    trace = open_trace(tmp_path, Options(cache=False))
    assert trace.ranks == (0, 1)
    later = tmp_path / "plugins/profile/2026_11_29_21_00_00"
    later.mkdir()
    (later / "a.xplane.pb").write_bytes(jax_job(5))
    trace = open_trace(tmp_path, Options(cache=False))
    assert [note[0] for note in trace.notes if note[0] == "runs"] == ["runs"]
