"""`stepscope attach`: programs that wait are recorded, on all ranks; others are refused in a sentence."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from record_support import SOURCES, Recorded
from stepscope.cli.main import run
from stepscope.record.watching import preparing, refusing, remote
from stepscope.record.watching.jobs import askable
from stepscope.record.watching.private import control_folder

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at /proc")
FAKES = Path(__file__).parents[1] / "fakes"
#: Goes on until a file is there.
LOOP = """
import os, sys, time, torch
from torch.utils.data import DataLoader
optimizer = torch.optim.SGD()
def train():
    end = time.monotonic() + 30
    while not os.path.exists("stop") and time.monotonic() < end:
        for batch in DataLoader(range(10)):
            time.sleep(0.004)
            optimizer.step()
"""


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this user, for this test alone."""
    import tempfile

    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    return control_folder()


@contextmanager
def running(folder: Path, code: str, *command: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    (folder / "program.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(FAKES)]), **variables}
    with subprocess.Popen(
        [*command, sys.executable, "program.py"], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            (folder / "stop").touch()


def awaited(control: Path, count: int) -> None:
    end = time.monotonic() + 20
    while len(askable(control)) < count and time.monotonic() < end:
        time.sleep(0.02)
    assert len(askable(control)) == count


WAIT = [sys.executable, "-m", "stepscope", "record", "--wait", "--no-machine", "-o", "out", "--"]


def test_a_program_that_waits_is_recorded_as_often_as_asked(
    control: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path, LOOP + "train()\nprint('trained')\nsys.exit(3)\n", *WAIT) as launcher:
        awaited(control, 1)
        [one] = askable(control)
        assert control.stat().st_mode & 0o777 == 0o700
        assert (control / f"{one.pid}.json").stat().st_mode & 0o777 == 0o600
        # By the process, by what started it, and as the only one there is.
        for number, named in enumerate(([str(one.pid)], [str(launcher.pid)], [])):
            assert run(["attach", *named, "-o", f"a{number}", "--steps", "3", "--no-stacks"]) == 0
            said = capsys.readouterr()
            assert "recorded because stepscope attach asked for it" in said.out
            assert len(Recorded(0, "", "", tmp_path / f"a{number}").starts_of("ProfilerStep#")) == 3
        (tmp_path / "stop").touch()
        output, errors = launcher.communicate(timeout=30)
    assert (launcher.returncode, output) == (3, "trained\n")
    assert "recorded steps" in errors
    assert list(control.glob("*.json")) == list(control.glob("*.ask")) == []


def test_all_ranks_of_a_job_are_recorded_at_once(
    control: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = LOOP + (
        "import subprocess\n"
        "if 'RANK' in os.environ: train()\n"
        "else:\n"
        "    start = lambda one: subprocess.Popen([sys.executable, __file__],"
        " env={**os.environ, 'RANK': one, 'WORLD_SIZE': '3', 'MASTER_PORT': '29511'})\n"
        "    for one in [start('0'), start('1')]: one.wait()\n"
    )
    with running(tmp_path, code, *WAIT):
        awaited(control, 2)
        assert run(["attach", "--port", "29511", "-o", "a", "--no-report"]) == 0
        assert sorted(Recorded(0, "", "", tmp_path / "a").files) == [0, 1]
        assert "2 of 3 ranks run on this machine; attach on the others, too" in capsys.readouterr().err
        assert run(["attach", "--port", "29512"]) == 2
        assert "no job whose ranks meet at port 29512 can be asked" in capsys.readouterr().err


def test_jobs_that_one_process_started_are_not_recorded_as_one(
    control: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launch = (
        f"import subprocess\nstart = lambda: subprocess.Popen({[*WAIT, sys.executable, 'loop.py']})\n"
        "for one in [start(), start()]: one.wait()\n"
    )
    (tmp_path / "loop.py").write_text(LOOP + "train()\n")
    with running(tmp_path, launch) as shell:
        awaited(control, 2)
        first, second = askable(control)
        assert run(["attach", str(shell.pid), "-o", "a"]) == 2
        said = capsys.readouterr().err
        assert f"several jobs run below process {shell.pid}" in said
        assert f"give a process: {first.pid} (loop.py), {second.pid} (loop.py)" in said
        assert run(["attach", str(second.pid), "-o", "b", "--no-report"]) == 0
        assert len(Recorded(0, "", "", tmp_path / "b").files) == 1


def test_a_shell_is_prepared(
    control: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCES), str(FAKES)]))
    assert run(["attach", "--prepare", "shell"]) == 0
    (tmp_path / "start.sh").write_text(f'{capsys.readouterr().out}exec "$@"\n')
    with running(tmp_path, LOOP + "train()\nprint('trained')\n", "sh", "start.sh") as program:
        awaited(control, 1)
        assert run(["attach", str(program.pid), "-o", "a", "--no-report"]) == 0
        assert len(Recorded(0, "", "", tmp_path / "a").files) == 1
    [report] = (control / "reports").iterdir()
    (tmp_path / "short.py").write_text(LOOP + "for step in range(3): optimizer.step()\n")
    subprocess.run(["sh", "start.sh", sys.executable, "short.py"], check=True, cwd=tmp_path)
    assert list((control / "reports").iterdir()) == [report]
    os.utime(report, (1, 1))
    assert askable(control) == list((control / "reports").iterdir()) == []
    assert run(["attach", "--prepare", "dinner"]) == 2
    assert "--prepare dinner is nothing to prepare; give shell, python or undo" in capsys.readouterr().err


def test_a_python_is_prepared_and_that_is_taken_back(control: Path, tmp_path: Path) -> None:
    packages = tmp_path / "site"
    packages.mkdir()
    assert "wait to be asked" in preparing.prepared("python", control, packages)
    [path] = packages.iterdir()
    code = f"import site; site.addsitedir({str(packages)!r})\n" + LOOP + "train()\n"
    with running(tmp_path, code) as program:
        awaited(control, 1)
        assert run(["attach", str(program.pid), "-o", "a", "--no-report"]) == 0
    # One whose stepscope is gone starts as ever.
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys, site; sys.path = [p for p in sys.path if 'python' in p];"
         f" site.addsitedir({str(packages)!r}); print('started')"],
        capture_output=True, text=True, cwd=tmp_path, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("started\n", "")
    preparing.prepared("undo", control, packages)
    assert not path.exists()


def test_a_program_that_trains_already_gets_hooks_by_python_3_14(
    control: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a stand-in: the program runs the script at its next step, as Python 3.14 does between two instructions."""

    def remote_exec(pid: int, script: str) -> None:
        shutil.copy(script, tmp_path / "script.new")
        (tmp_path / "script.new").rename(tmp_path / "script.py")

    monkeypatch.setattr(sys, "remote_exec", remote_exec, raising=False)
    monkeypatch.setattr(remote, "python_of", lambda _: sys.version_info[:2])
    code = LOOP.replace(
        "            time.sleep(0.004)\n",
        "            time.sleep(0.004)\n            if os.path.exists('script.py'):\n"
        "                text = open('script.py').read(); os.unlink('script.py'); exec(text, {})\n",
    )
    with running(tmp_path, code + "train()\n") as program:
        time.sleep(0.5)
        assert run(["attach", str(program.pid), "-o", "a", "--no-report", "--timeout", "20"]) == 0
        assert run(["attach", str(program.pid), "-o", "b", "--no-report"]) == 0
        (tmp_path / "stop").touch()
        _, errors = program.communicate(timeout=30)
    assert errors == ""
    assert list(control.glob("*.py")) == []
    for folder in ("a", "b"):
        assert len(Recorded(0, "", "", tmp_path / folder).starts_of("ProfilerStep#")) == 4


def said_of(pid: int | str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert run(["attach", str(pid), *options]) == 2
    return capsys.readouterr().err


def test_what_cant_be_asked_is_refused_in_a_sentence(
    control: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "there is no process 4000000" in said_of(4_000_000, capsys)
    assert run(["attach"]) == 2
    assert "no process can be asked; start one with stepscope record --wait" in capsys.readouterr().err
    with subprocess.Popen(["sleep", "30"]) as sleeps:
        assert f"process {sleeps.pid} (sleep) is no Python" in said_of(sleeps.pid, capsys)
        monkeypatch.setattr(refusing, "_owner", lambda _: os.geteuid() + 1)
        assert f"process {sleeps.pid} (sleep) is another user's; attach as that user" in said_of(sleeps.pid, capsys)
        monkeypatch.undo()
        monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
        read = refusing._text
        monkeypatch.setattr(
            refusing, "_text", lambda pid, name: "NSpid:\t7\t1\n" if name == "status" else read(pid, name)
        )
        assert f"process {sleeps.pid} (sleep) runs in a container; attach within" in said_of(sleeps.pid, capsys)
        monkeypatch.setattr(refusing, "_text", read)
        sleeps.kill()
    # Python 3.14 can put the hooks into a program that was not prepared; then it makes no step.
    remote = hasattr(sys, "remote_exec")
    no_step = "has made no step in 1 s; ask again when its loop runs"
    for variables, said in (
        ({}, no_step if remote else "was not prepared to be asked; start it with stepscope record --wait"),
        ({"STEPSCOPE_RECORD": json.dumps({"output": "a", "reports": "b"})}, "without --wait or --watch"),
        ({"STEPSCOPE_RECORD": json.dumps({"output": "a", "reports": "b", "control": "c"})}, "has made no step yet"),
        ({"KINETO_USE_DAEMON": "1"}, "it asks a daemon (KINETO_USE_DAEMON), but there is no dyno here"),
    ):
        with running(tmp_path, "import time\ntime.sleep(30)\n", **variables) as program:
            time.sleep(0.2)
            assert said in said_of(program.pid, capsys, "--timeout", "1")
            program.kill()


def test_a_loop_that_stands_still(control: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = LOOP + "for _ in range(5): optimizer.step()\ntime.sleep(30)\n"
    with running(tmp_path, code, *WAIT) as launcher:
        awaited(control, 1)
        said = said_of(askable(control)[0].pid, capsys, "--timeout", "1")
        assert "ended no step in 1 s, so that nothing was recorded of it" in said
        assert list(control.glob("*.ask")) == []
        launcher.send_signal(signal.SIGTERM)


def test_a_profiler_that_fails(control: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = LOOP + "torch.profiler._KinetoProfile.start_trace = None\ntrain()\n"
    with running(tmp_path, code, *WAIT):
        awaited(control, 1)
        said = said_of(askable(control)[0].pid, capsys, "--timeout", "1")
    assert "has recorded nothing in 1 s ('NoneType' object is not callable)" in said


def test_dynolog_is_asked_where_the_program_asks_it(
    control: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a stand-in of `dyno`, which writes what a program with a daemon would."""
    dyno = tmp_path / "bin" / "dyno"
    dyno.parent.mkdir()
    trace: dict[str, Any] = {"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}  # fmt: skip
    dyno.write_text(
        f"#!{sys.executable}\nimport sys\nat = sys.argv.index('--log-file') + 1\n"
        "assert sys.argv[1:3] == ['gputrace', '--pids']\n"
        f"open(sys.argv[at].replace('.pt', '_' + sys.argv[3] + '.pt'), 'w').write({json.dumps(trace)!r})\n"
    )
    dyno.chmod(0o755)
    monkeypatch.setenv("PATH", f"{dyno.parent}{os.pathsep}{os.environ['PATH']}")
    with running(tmp_path, "import time\ntime.sleep(30)\n", KINETO_USE_DAEMON="1") as program:
        time.sleep(0.2)
        assert run(["attach", str(program.pid), "-o", "a"]) == 0
        program.kill()
    assert [one.name for one in (tmp_path / "a").glob("*.json")] == [f"kineto_{program.pid}.pt.trace.json"]


def test_a_folder_that_others_may_open_is_not_used(
    control: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control.chmod(0o755)
    assert run(["attach"]) == 2
    assert f"{control} can't be used to ask processes (it is open to others than you)" in capsys.readouterr().err
