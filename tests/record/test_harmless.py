"""A recorded program behaves as it does alone: signals, errors of recording's own, threads, processes."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from record_support import SOURCES, Recorded
from stepscope.record.witness import GroupWitness

FAKES = Path(__file__).parent / "fakes"
LAUNCH = [sys.executable, "-m", "stepscope", "record", "-o", "out", "--no-report", "--no-machine"]
LOOP = """
import torch
from torch.utils.data import DataLoader
optimizer = torch.optim.SGD()
def train(loader, steps=20):
    for step, batch in zip(range(steps), loader):
        with torch.profiler.record_function(f"body {step}"):
            optimizer.step()
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(FAKES)])}


def record(folder: Path, code: str, *options: str) -> Recorded:
    (folder / "program.py").write_text(code)
    command = [*LAUNCH, *options, "--", sys.executable, "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60, env=environment())
    return Recorded(done.returncode, done.stdout, done.stderr, folder / "out")


HANDLES = """
import os, signal, sys, time
got = []
for name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1"):
    signal.signal(getattr(signal, name), lambda number, _: got.append(signal.Signals(number).name))
print("ready", os.getpid(), flush=True)
end = time.monotonic() + 20
while not got and time.monotonic() < end: time.sleep(0.01)
time.sleep(0.3)
print(*got, flush=True)
sys.exit(5)
"""


def started(
    folder: Path, code: str, disposition: Any = signal.SIG_DFL, **how: object
) -> tuple[subprocess.Popen[str], int]:
    """The launcher of a program that has said that it is ready, and the program's process."""
    (folder / "program.py").write_text(code)
    # Below `nohup`, or in the background of a script, some are ignored by all.
    before = {one: signal.signal(one, disposition) for one in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)}
    launcher: subprocess.Popen[str] = subprocess.Popen(
        [*LAUNCH, "--", sys.executable, "program.py"], cwd=folder, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how,  # type: ignore[call-overload]
    )  # fmt: skip
    for one, how_before in before.items():
        signal.signal(one, how_before)
    assert launcher.stdout is not None
    word, pid = launcher.stdout.readline().split()
    assert word == "ready"
    return launcher, int(pid)


@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1"])
def test_a_signal_to_the_launcher_alone_reaches_the_program_once(name: str, tmp_path: Path) -> None:
    launcher, _ = started(tmp_path, HANDLES)
    launcher.send_signal(getattr(signal, name))
    output, _ = launcher.communicate(timeout=30)
    assert (output, launcher.returncode) == (f"{name}\n", 5)


@pytest.mark.skipif(sys.platform != "linux", reason="what is ignored is left alone elsewhere")
@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGHUP"])
def test_a_signal_that_is_ignored_reaches_a_program_that_handles_it(name: str, tmp_path: Path) -> None:
    """As in the background of a script, whose jobs ignore keys of the terminal unless they handle them."""
    launcher, _ = started(tmp_path, HANDLES, signal.SIG_IGN)
    launcher.send_signal(getattr(signal, name))
    output, _ = launcher.communicate(timeout=30)
    assert (output, launcher.returncode) == (f"{name}\n", 5)


def test_what_is_ignored_stays_so(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, time\n"
        "print('ready', os.getpid(), flush=True)\ntime.sleep(1)\n"
        "print(*[signal.getsignal(getattr(signal, name)).name for name in ('SIGHUP', 'SIGINT', 'SIGQUIT')])\n"
    )
    launcher, _ = started(tmp_path, code, signal.SIG_IGN)
    for name in ("SIGHUP", "SIGINT", "SIGQUIT"):
        launcher.send_signal(getattr(signal, name))
    output, _ = launcher.communicate(timeout=30)
    assert (output, launcher.returncode) == ("SIG_IGN SIG_IGN SIG_IGN\n", 0)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"])
def test_a_signal_to_the_whole_group_reaches_the_program_once(name: str, tmp_path: Path) -> None:
    """As `kill %1` of a shell sends it; the next one, to the launcher alone, is handed on."""
    code = HANDLES.replace("while not got", "while len(got) < 2").replace("print(*got", "print(len(got), *got")
    launcher, _ = started(tmp_path, code, start_new_session=True)
    os.killpg(launcher.pid, getattr(signal, name))
    time.sleep(0.3)
    launcher.send_signal(getattr(signal, name))
    output, _ = launcher.communicate(timeout=30)
    assert (output, launcher.returncode) == (f"2 {name} {name}\n", 5)


def has_group(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_signal_that_the_program_sends_to_its_group_reaches_it_once(tmp_path: Path) -> None:
    code = (
        "import os, signal, time\ngot = []\nsignal.signal(signal.SIGTERM, lambda *_: got.append(1))\n"
        "print('ready', os.getpid(), flush=True)\nos.killpg(0, signal.SIGTERM)\ntime.sleep(0.5)\nprint(len(got))\n"
    )
    launcher, _ = started(tmp_path, code, start_new_session=True)
    output, _ = launcher.communicate(timeout=30)
    assert (output, launcher.returncode) == ("1\n", 0)
    # The process beside the launcher ends when it has seen that the launcher did.
    until = time.monotonic() + 5
    while has_group(launcher.pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not has_group(launcher.pid)


def test_without_a_witness_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    witness = GroupWitness()
    assert not witness.is_there
    assert not witness.got_too(signal.SIGTERM)


@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGTERM"])
def test_a_signal_that_the_program_does_not_handle_ends_it(name: str, tmp_path: Path) -> None:
    launcher, pid = started(tmp_path, "import os, time\nprint('ready', os.getpid(), flush=True)\ntime.sleep(60)\n")
    launcher.send_signal(getattr(signal, name))
    _, errors = launcher.communicate(timeout=30)
    assert launcher.returncode == 128 + getattr(signal, name)
    assert ("KeyboardInterrupt" in errors) == (name == "SIGINT")
    assert not alive(pid)


def test_a_key_at_the_terminal_reaches_the_program_once(tmp_path: Path) -> None:
    """The terminal sends it to the program, too."""
    (tmp_path / "program.py").write_text(HANDLES)
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        os.execve(sys.executable, [*LAUNCH, "--", sys.executable, "program.py"], environment())
    said = b""
    interrupted = False
    end = time.monotonic() + 40
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            said += os.read(terminal, 4096)
        except OSError:
            break
        if b"ready" in said and not interrupted:
            interrupted = True
            os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 5
    assert said.count(b"SIGINT") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
def test_a_killed_launcher_leaves_no_program_behind(tmp_path: Path) -> None:
    launcher, pid = started(tmp_path, "import os, time\nprint('ready', os.getpid(), flush=True)\ntime.sleep(60)\n")
    others = [int(one) for one in Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()]
    assert pid in others
    launcher.kill()
    launcher.communicate(timeout=30)
    end = time.monotonic() + 10
    while any(map(alive, others)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(map(alive, others))


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_signals_blocked_and_handled_are_those_without_recording(tmp_path: Path) -> None:
    code = (
        "import signal\nprint(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),\n"
        "    [signal.getsignal(one) for one in (2, 3, 10, 12, 15, 17)])\n"
    )
    recorded = record(tmp_path, code)
    alone = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, cwd=tmp_path)
    assert recorded.output == alone.stdout


@pytest.mark.parametrize("gone", ["all", "reports"])
def test_a_folder_that_disappears_is_no_harm(gone: str, tmp_path: Path) -> None:
    """As where a job is launched on another host, which has no such folder yet."""
    what = "'out'" if gone == "all" else "'out/.reports'"
    code = LOOP + f"import shutil\nshutil.rmtree({what})\ntrain(DataLoader(range(40)), 40)\nprint('trained')\n"
    recorded = record(tmp_path, code)
    assert (recorded.status, recorded.output) == (0, "trained\n")
    assert "recorded steps 10 to 13" in recorded.errors
    assert list(recorded.starts_of("ProfilerStep#")) == [10, 11, 12, 13]
    assert [path.suffix for path in recorded.folder.iterdir()] == [".json"]


def test_a_folder_that_turns_into_a_file_ends_recording_alone(tmp_path: Path) -> None:
    code = LOOP + (
        "import shutil, torch.profiler\nshutil.rmtree('out')\nopen('out', 'w').close()\n"
        "train(DataLoader(range(40)), 40)\nprint('trained', torch.profiler.RUNNING)\n"
    )
    recorded = record(tmp_path, code)
    assert (recorded.status, recorded.output) == (0, "trained None\n")


@pytest.mark.parametrize("call", ["start_trace", "stop_trace", "export_chrome_trace"])
def test_no_profiler_goes_on_after_an_error_of_its_own(call: str, tmp_path: Path) -> None:
    """Whatever fails, the program's own profiler finds none at work afterwards."""
    code = LOOP + (
        f"kind = torch.profiler._KinetoProfile\ncalled = kind.{call}\n"
        "def fails(self, *arguments):\n"
        f"    {'pass' if call == 'start_trace' else 'called(self, *arguments)'}\n    raise KeyError('broken')\n"
        f"kind.{call} = fails\ntrain(DataLoader(range(20)))\nkind.{call} = called\n"
        "own = kind(); own.prepare_trace(); own.start_trace(); own.stop_trace()\nprint('trained')\n"
    )
    recorded = record(tmp_path, code)
    assert (recorded.status, recorded.output) == (0, "trained\n"), recorded.errors
    assert "'broken'" in recorded.errors


@pytest.mark.parametrize("output", ["file/sub", "/proc/none"])
def test_a_folder_that_cant_be_written_is_refused_before_the_start(output: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    recorded = record(tmp_path, "print('ran')", "-o", output)
    assert (recorded.status, recorded.output) == (2, "")
    assert "can't be written" in recorded.errors


def test_two_launchers_may_share_a_folder(tmp_path: Path) -> None:
    """One per machine, as a job of several machines has."""
    (tmp_path / "out" / ".reports" / "other_1").mkdir(parents=True)
    recorded = record(tmp_path, LOOP + "train(DataLoader(range(20)))\n")
    assert recorded.status == 0, recorded.errors
    assert sorted(path.name for path in (tmp_path / "out" / ".reports").iterdir()) == ["other_1"]
    shutil.rmtree(tmp_path / "out")


AHEAD = """
import queue, threading
def ahead(loader):
    batches = queue.Queue(2)
    def read():
        for one in loader: batches.put(one)
        batches.put(None)
    threading.Thread(target=read, daemon=True).start()
    while (one := batches.get()) is not None: yield one
"""


def test_a_loader_that_another_thread_reads(tmp_path: Path) -> None:
    recorded = record(tmp_path, LOOP + AHEAD + "train(ahead(DataLoader(range(320))), 320)\n")
    assert list(recorded.starts_of("ProfilerStep#")) == [10, 11, 12, 13]
    assert "steps are updates by the optimizer" in recorded.errors


def test_a_loader_that_another_thread_reads_for_inference(tmp_path: Path) -> None:
    code = LOOP.replace("optimizer = torch.optim.SGD()", "model = torch.nn.Module(); model.forward = lambda: None")
    code = code.replace("optimizer.step()", "model()")
    recorded = record(tmp_path, code + AHEAD + "train(ahead(DataLoader(range(320))), 320)\n")
    assert "steps are calls of the model" in recorded.errors
    assert list(recorded.starts_of("ProfilerStep#")) == [10, 11, 12, 13]


def test_a_loop_in_a_thread_that_ends_while_it_is_recorded(tmp_path: Path) -> None:
    code = LOOP + (
        "import threading\none = threading.Thread(target=train, args=(range(13),))\none.start(); one.join()\n"
        "import gc; gc.collect()\nprint(torch.profiler.RUNNING)\n"
    )
    recorded = record(tmp_path, code)
    assert recorded.output == "None\n"
    assert "the beginning of step 13, in which the thread ended" in recorded.errors


def test_threads_are_the_programs_own(tmp_path: Path) -> None:
    code = LOOP + "import threading\nprint(threading.active_count(), threading.enumerate())\n"
    recorded = record(tmp_path, code)
    alone = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, cwd=tmp_path, env=environment()
    )
    assert [*recorded.output.split()[:2]] == [*alone.stdout.split()[:2]] == ["1", "[<_MainThread(MainThread,"]


def test_the_program_gets_the_environment_that_it_would_have(tmp_path: Path) -> None:
    code = "import json, os\nprint(json.dumps(dict(os.environ)))\n"
    given = json.loads(record(tmp_path, code).output)
    ours = {"PYTHONPATH": given["PYTHONPATH"], "STEPSCOPE_RECORD": given["STEPSCOPE_RECORD"]}
    assert given == {**environment(), **ours}


def test_processes_without_a_group_are_not_all_rank_0(tmp_path: Path) -> None:
    code = LOOP + (
        "import multiprocessing\nwork = multiprocessing.get_context('fork').Process\n"
        "both = [work(target=train, args=(range(20),)) for _ in range(2)]\n"
        "for one in both: one.start()\nfor one in both: one.join()\n"
    )
    recorded = record(tmp_path, code)
    assert recorded.errors.count("recorded steps 10 to 13 (steps are updates by the optimizer) of process ") == 2
    assert "rank" not in recorded.errors


@pytest.mark.parametrize("how", ["multiprocessing", "subprocess"])
def test_a_process_that_waits_for_others_is_not_recorded(how: str, tmp_path: Path) -> None:
    start = {
        "multiprocessing": "import multiprocessing\nmultiprocessing.get_context('fork').Process(target=wait).start()\n",
        "subprocess": "import subprocess\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3)'])\n",
    }[how]
    code = "import sys, time, torch\ndef wait(): time.sleep(3)\n" + start + "wait()\n"
    recorded = record(tmp_path, code, "--patience", "1")
    assert "nothing was recorded" in recorded.errors
    assert not recorded.folder.exists()


def test_a_stretch_ends_with_the_program(tmp_path: Path) -> None:
    recorded = record(tmp_path, "import time, torch\ntime.sleep(2)\n", "--patience", "1")
    assert recorded.status == 0
    assert "recorded a stretch of time" in recorded.errors
    assert recorded.trace()["stepscope_partial"] == "the program ended"


def test_a_profile_function_of_the_program_stays(tmp_path: Path) -> None:
    code = LOOP + (
        "import sys\ndef mine(*_): pass\nsys.setprofile(mine)\ntrain(range(20))\nprint(sys.getprofile() is mine)\n"
    )
    recorded = record(tmp_path, code)
    assert recorded.output == "True\n"
    assert "Python functions were left out, since the program has a profile function of its own" in recorded.errors


def test_an_update_within_an_update_is_one(tmp_path: Path) -> None:
    """A class of optimizers whose step calls that of the class above, which torch has prepared as well."""
    code = LOOP.replace(
        "optimizer = torch.optim.SGD()",
        "class Above(torch.optim.SGD):\n    def step(self, closure=None): return super().step()\n"
        "torch.optim.SGD(); optimizer = Above()",
    )
    recorded = record(tmp_path, code + "train(DataLoader(range(20)))\n")
    assert list(recorded.starts_of("ProfilerStep#")) == list(recorded.starts_of("body ")) == [10, 11, 12, 13]
