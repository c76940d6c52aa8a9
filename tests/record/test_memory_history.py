"""`stepscope record --memory`: what a device's allocator did, beside the recording of the same rank."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from record_support import SOURCES, Recorded
from stepscope.ingest import Options, open_trace
from stepscope.record.job.memory import MemoryHistory
from stepscope.record.job.report import ProcessReport
from stepscope.record.settings import RecordSettings

HERE = Path(__file__).parent
TRAIN = """
{first}
import torch
from torch.utils.data import DataLoader
optimizer = torch.optim.SGD()
for step, batch in enumerate(DataLoader(range(8))):
    {device}.init()
    torch.cuda.memory.allocate({size})
    optimizer.step()
print("trained")
"""


def record(
    folder: Path, *, size: str = "1 << 20", device: str = "torch.cuda", first: str = "", **variables: str
) -> Recorded:
    """Record steps 3 and 4 of a program that allocates in each step what it never gives back."""
    (folder / "program.py").write_text(TRAIN.format(size=size, device=device, first=first))
    command = [
        sys.executable,
        "-m",
        "stepscope",
        "record",
        "--no-machine",
        "-o",
        "out",
        "--no-report",
        "--memory",
        "--steps",
        "3:5",
    ]
    paths = os.pathsep.join(map(str, (SOURCES, HERE / "fakes", HERE / "fakes_npu")))
    done = subprocess.run(
        [*command, "--", sys.executable, "program.py"],
        capture_output=True, text=True, cwd=folder, timeout=60, env={**os.environ, "PYTHONPATH": paths, **variables},
    )  # fmt: skip
    return Recorded(done.returncode, done.stdout, done.stderr, folder / "out")


def allocations(path: Path) -> dict[int, list[int]]:
    """Sizes in MiB of what was allocated, by rank, as a folder is analysed."""
    with open_trace(path, Options(cache=False)) as trace:
        rows = trace.rows("SELECT rank, bytes >> 20 AS size FROM allocator_events WHERE action = 'alloc' ORDER BY ts")
        assert trace.rows("SELECT count(*) AS n FROM steps WHERE source = 'profiler'")[0]["n"] == 2
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(row["rank"], []).append(row["size"])
    return found


def test_history_from_the_first_use_of_a_device(tmp_path: Path) -> None:
    recorded = record(tmp_path, RANK="3", WORLD_SIZE="8")
    assert recorded.status == 0, recorded.errors
    # It is stopped with the last recorded step, and not before it was saved.
    assert recorded.output == "history all\nhistory None\ntrained\n"
    assert "recorded memory of rank 3: " in recorded.errors
    assert allocations(recorded.folder) == {3: [1] * 5}
    assert len(list(recorded.folder.iterdir())) == 2


def test_running_out_of_memory_in_the_first_steps(tmp_path: Path) -> None:
    """The error is the program's own, and what was in use is saved before it is raised."""
    recorded = record(tmp_path, size="1 << (20 if step < 1 else 41)")
    assert recorded.status == 1
    assert "OutOfMemoryError: CUDA out of memory." in recorded.errors
    assert "2,097,152 MiB were asked for with 1 MiB free" in recorded.errors
    assert "no step was recorded: the program ended" in recorded.errors
    [path] = recorded.folder.iterdir()
    assert in_use(path) == 1


def in_use(path: Path) -> int:
    """What a snapshot says is in use, in MiB."""
    with open_trace(path, Options(cache=False)) as opened:
        return int(opened.rows("SELECT sum(bytes) >> 20 AS used FROM blocks WHERE state = 'active'")[0]["used"])


@pytest.fixture
def history(fakes: None, tmp_path: Path) -> MemoryHistory:
    """A history that nothing is written of yet, in a process that has imported torch."""
    import torch.cuda  # noqa: F401

    report = ProcessReport()
    return MemoryHistory(RecordSettings(str(tmp_path / "out"), str(tmp_path), memory=True), lambda: report)


def test_without_a_device_there_is_one_sentence(history: MemoryHistory) -> None:
    history.await_device()
    history.save()
    history.stop()
    assert history._report().notes == ["memory was not recorded, since the program has used no GPU or NPU"]
    assert not history._report().snapshots


def test_running_out_after_the_recorded_steps(history: MemoryHistory) -> None:
    """There is no history any more, but what is in use is saved, once for many times in a row."""
    import torch

    torch.cuda.init()
    history.await_device()
    torch.cuda.memory.allocate(1 << 20)
    history.save()
    history.stop()
    for _ in range(50):
        with pytest.raises(torch.cuda.OutOfMemoryError):
            torch.cuda.memory.allocate(1 << 41)
    assert len(history._report().notes) == 1
    memory, oom = map(Path, history._report().snapshots)
    assert (in_use(memory), in_use(oom)) == (1, 1)


def test_a_recording_that_is_asked_for_later(history: MemoryHistory) -> None:
    import torch

    torch.cuda.init()
    for size in (1, 2):
        history.await_device()
        torch.cuda.memory.allocate(size << 20)
        history.save()
        history.stop()
    assert [in_use(Path(path)) for path in history._report().snapshots] == [1, 3]
    with open_trace(Path(history._report().snapshots[1]), Options(cache=False)) as trace:
        # The second history begins anew, with what was in use.
        assert trace.rows("SELECT count(*) AS n FROM allocator_events WHERE action = 'alloc'")[0]["n"] == 1


def test_a_forked_process_saves_nothing_of_its_parent(history: MemoryHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    history.await_device()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    torch.cuda.init()
    assert not history._runs


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("_record_memory_history", "the history of memory is not recorded ('NoneType' object is not callable)"),
        ("_snapshot", "memory could not be saved ('NoneType' object is not callable)"),
    ],
)
def test_an_allocator_that_fails_does_not_end_the_program(name: str, said: str, history: MemoryHistory) -> None:
    import torch

    setattr(torch.cuda.memory, name, None)
    torch.cuda.init()
    history.await_device()
    history.save()
    history.stop()
    assert said in history._report().notes
