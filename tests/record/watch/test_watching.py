"""`stepscope record --watch`: what it keeps and records, and that the program does what it does alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from record_support import SOURCES, Recorded
from stepscope.cli.main import run
from stepscope.ingest import Options, open_trace
from stepscope.record.ring.reader import Ring, read_ring
from stepscope.record.triggers.keeping import recordings_in
from stepscope.reports.build import build_report

FAKES = Path(__file__).parents[1] / "fakes"
LAUNCH = [sys.executable, "-m", "stepscope", "record", "--watch", "-o", "out", "--no-report"]
#: Steps of 10 ms, but for those that are planted, of which loading takes 2 ms.
LOOP = """
import os, sys, time, torch
from torch.utils.data import DataLoader
class Data(list):
    def __iter__(self):
        for one in range(len(self)):
            time.sleep(0.002)
            yield one
optimizer = torch.optim.SGD()
def train(steps, planted={}):
    for step, batch in enumerate(DataLoader(Data(range(steps)))):
        time.sleep(0.008 + planted.get(step, 0))
        optimizer.step()
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(FAKES)])}


def watch(folder: Path, code: str, *options: str, machine: bool = False) -> Recorded:
    (folder / "program.py").write_text(code)
    command = [*LAUNCH, *([] if machine else ["--no-machine"]), *options, "--", sys.executable, "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60, env=environment())
    return Recorded(done.returncode, done.stdout, done.stderr, folder / "out")


def ring_of(recorded: Recorded) -> Ring:
    [path] = (recorded.folder / ".watch").glob("*.ring")
    return read_ring(path)


def marks(folder: Path) -> list[int]:
    """Numbers of recorded steps."""
    return sorted(Recorded(0, "", "", folder).starts_of("ProfilerStep#"))


def test_a_slow_step_is_recorded_and_is_the_first_line_of_the_report(tmp_path: Path) -> None:
    recorded = watch(tmp_path, LOOP + "train(60, {30: 0.5})\nprint('trained')\n", "--slow", "12", machine=True)
    assert (recorded.status, recorded.output) == (0, "trained\n"), recorded.errors
    [folder] = recordings_in(recorded.folder)
    assert folder.name.endswith("-slow-step-step-30")
    assert marks(folder) == [33, 34, 35, 36]
    with open_trace(folder, Options(cache=False)) as trace:
        report = build_report(trace)
    first = report.health[0]
    assert first.code == "triggered"
    assert first.message.startswith("recorded because step 30 took ")
    assert f"{folder.name}: {first.message}." in recorded.errors
    assert any(path.name.endswith(".machine.jsonl") for path in folder.iterdir())
    ring = ring_of(recorded)
    assert [step.number for step in ring.steps] == list(range(1, 60))
    assert ring.recordings == 1
    assert ring.happened[0]["trigger"]["step"] == 30
    # The profiler is at work in two steps before those that it records.
    assert [step.number for step in ring.steps if step.recorded] == [31, 32, 33, 34, 35, 36]
    waits = sorted(step.wait_ns for step in ring.steps)
    assert 2_000_000 <= waits[len(waits) // 2] <= min(step.length_ns for step in ring.steps) * 0.9
    assert max(ring.steps, key=lambda one: one.length_ns).number == 30
    assert (ring.host_bytes > 1 << 20) == Path("/proc/self/statm").exists()
    assert (ring.device_bytes, ring.about["source"]) == (0, "optimizer")


def test_nothing_of_note_is_recorded_of_steps_as_usual(tmp_path: Path) -> None:
    recorded = watch(tmp_path, LOOP + "train(40)\n", "--slow", "9")
    assert recordings_in(recorded.folder) == []
    assert "nothing was recorded: nobody asked for it in 40 steps, and none was slow enough" in recorded.errors
    assert "watched 39 steps of 1 process and recorded 0 times" in recorded.errors


def test_recordings_are_bounded_and_the_ring_knows_those_that_are_gone(tmp_path: Path) -> None:
    asks = "import pathlib\nfor turn in range(4):\n    pathlib.Path('now').touch(); time.sleep(0.05); train(40)\n"
    recorded = watch(tmp_path, LOOP + asks, "--touch", "now", "--keep", "2", "--slow", "99")
    ring, kept = ring_of(recorded), recordings_in(recorded.folder)
    told = [one["trigger"]["what"] for one in ring.happened]
    assert told == ["file"] * 4
    assert len(kept) == 2
    assert [one["folder"] for one in ring.happened][-2:] == [one.name for one in kept]
    assert f"recorded {len(told)} times, of which the 2 newest are kept" in recorded.errors


def test_memory_that_jumps_is_recorded(tmp_path: Path) -> None:
    grows = (
        "optimizer_step = optimizer.step\ntime.sleep(0.1)\ndef grown(): kept.append(b'x' * (600 << 20))\nkept = []\n"
    )
    code = (
        LOOP
        + grows
        + (
            "for step in range(40):\n    time.sleep(0.11 if step < 25 else 0.12)\n    optimizer.step()\n"
            "    if step == 20: grown()\n"
        )
    )
    recorded = watch(tmp_path, code, "--slow", "1000")
    assert len(recordings_in(recorded.folder)) == 1
    assert "recorded because the memory of the process in use rose to " in recorded.errors


def test_all_ranks_record_what_one_of_them_sees(tmp_path: Path) -> None:
    """Two processes of a job, of which one is slow in a step, and both are then."""
    code = LOOP + (
        "rank = sys.argv[1] if len(sys.argv) > 1 else ''\n"
        "if rank:\n    train(150, {30: 0.5} if rank == '1' else {})\nelse:\n"
        "    import subprocess\n"
        "    start = lambda one: subprocess.Popen([sys.executable, __file__, one],"
        " env={**os.environ, 'RANK': one, 'WORLD_SIZE': '2'})\n"
        "    for one in [start('0'), start('1')]: one.wait()\n"
    )
    recorded = watch(tmp_path, code, "--slow", "12")
    [folder] = recordings_in(recorded.folder)
    assert sorted(Recorded(0, "", "", folder).files) == [0, 1], recorded.errors
    assert "step 30 of rank 1 took" in recorded.errors


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_killed_launcher_leaves_the_job_running_and_watched(tmp_path: Path) -> None:
    code = LOOP + "print(os.getpid(), flush=True)\ntrain(150, {120: 0.5})\nopen('done', 'w').write('trained')\n"
    (tmp_path / "program.py").write_text(code)
    launcher = subprocess.Popen(
        [*LAUNCH, "--slow", "12", "--", sys.executable, "program.py"], cwd=tmp_path, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert launcher.stdout is not None
    pid = int(launcher.stdout.readline())
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    end = time.monotonic() + 30
    while not (tmp_path / "done").exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert (tmp_path / "done").read_text() == "trained"
    launcher.stdout.close()
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.02)
    [folder] = recordings_in(tmp_path / "out")
    assert marks(folder) == [123, 124, 125, 126]


def both(folder: Path, code: str, *options: str) -> tuple[Recorded, Recorded]:
    """A program watched and alone, each in a folder of its own."""
    (folder / "alone").mkdir()
    (folder / "watched").mkdir()
    (folder / "alone" / "program.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, cwd=folder / "alone", env=environment()
    )
    alone = Recorded(done.returncode, done.stdout, done.stderr, folder / "alone")
    return alone, watch(folder / "watched", code, *options)


def own(errors: str) -> list[str]:
    """The program's own lines of standard error, which may name its folder."""
    return [line for line in errors.replace("/watched/", "/alone/").splitlines() if not line.startswith("stepscope: ")]


@pytest.mark.parametrize(
    "ends",
    [
        "print('bye')",
        "sys.exit(7)",
        "raise ValueError('bad loss')",
        "import signal; os.kill(os.getpid(), signal.SIGTERM)",
        # torch imports ctypes, whose library may keep a file open.
        "import ctypes, threading; print(threading.active_count(), sorted(os.listdir('/proc/self/fd')))",
        "os.closerange(3, 64); train(20); print(open(os.devnull).fileno())",
        "import shutil; shutil.rmtree('out', ignore_errors=True); train(20); print('trained')",
    ],
)
def test_a_watched_program_does_what_it_does_alone(ends: str, tmp_path: Path) -> None:
    alone, watched = both(tmp_path, LOOP + f"train(40, {{25: 0.4}})\n{ends}\n", "--slow", "12")
    status = alone.status if alone.status >= 0 else 128 - alone.status
    assert (watched.status, watched.output, own(watched.errors)) == (status, alone.output, own(alone.errors))
    left: Sequence[str] = sorted(one.name for one in (tmp_path / "watched").iterdir() if one.name != "out")
    assert left == ["program.py"]


def test_an_error_of_a_data_set_shows_no_frame_of_ours(tmp_path: Path) -> None:
    code = LOOP.replace("yield one", "yield 1 // (one - 5)") + "train(20)\n"
    alone, watched = both(tmp_path, code)
    assert "ZeroDivisionError" in alone.errors
    assert own(watched.errors) == own(alone.errors)


def test_a_recording_that_cant_be_made_does_not_end_watching(tmp_path: Path) -> None:
    code = (
        LOOP + "os.mkdir('out/.watch/lock')\ntrain(50, {20: 0.5})\nos.rmdir('out/.watch/lock')\ntrain(40, {30: 0.9})\n"
    )
    recorded = watch(tmp_path, code.replace("os.mkdir(", "train(2); os.mkdir("), "--slow", "12")
    assert "a reason to record could not be followed (Is a directory)" in recorded.errors
    [folder] = recordings_in(recorded.folder)
    assert folder.name.endswith("-slow-step-step-82")
    assert ring_of(recorded).count == 91


@pytest.mark.parametrize(("failures", "recordings"), [(2, 2), (3, 0)])
def test_a_profiler_that_fails_again_and_again_ends_watching(failures: int, recordings: int, tmp_path: Path) -> None:
    fails = (
        "from torch.profiler import _KinetoProfile as kind\n"
        # A recording that fails is cancelled, for which a profiler that is set up is started, too.
        f"start, left = kind.start_trace, [{2 * failures}]\n"
        "def fail(self):\n"
        "    left[0] -= 1\n"
        "    if left[0] >= 0: raise RuntimeError('CUPTI is busy')\n"
        "    start(self)\n"
        "kind.start_trace = fail\n"
    )
    code = LOOP + fails + "train(70, {20: 0.2, 32: 0.2, 44: 0.2, 56: 0.4})\nprint('trained')\n"
    recorded = watch(tmp_path, code, "--slow", "12", "--cooldown", "0")
    assert (recorded.status, recorded.output) == (0, "trained\n")
    assert recorded.errors.count("CUPTI is busy") == 1
    ring = ring_of(recorded)
    assert ((ring.count == 69), ring.recordings) == (bool(recordings), recordings)


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = watch(tmp_path, "", "--with", "nsys")
    assert recorded.status == 2
    assert "--with nsys can't be started later; leave out --with, --watch or --wait" in recorded.errors
    assert run(["record", "--prometheus", "0", "--", "true"]) == 2
    assert "--prometheus tells of a watched job; give --watch, too" in capsys.readouterr().err


def test_a_free_port_is_told(tmp_path: Path) -> None:
    recorded = watch(tmp_path, "", "--prometheus", "0")
    assert "stepscope: metrics are at port " in recorded.errors
