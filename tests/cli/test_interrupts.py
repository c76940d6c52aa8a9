"""Ctrl-C and other signals at any moment: the command ends at once, says so, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from series import series
from stepscope.simulate import PRESETS, simulate
from stepscope.simulate.settings import with_settings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are a matter of Unix")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings that take a while to be read."""
    folder = tmp_path_factory.mktemp("jobs")
    simulate(with_settings(PRESETS["tiny"], ["steps=400"]), folder / "job.json")
    return folder


def started(arguments: Sequence[str], place: Path, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """A command with a cache and a temporary folder of its own."""
    for name in ("cache", "tmp"):
        (place / name).mkdir(exist_ok=True)
    environment = {**os.environ, "STEPSCOPE_CACHE": str(place / "cache"), "TMPDIR": str(place / "tmp")}
    # A shell starts jobs in the background, such as these tests may be, with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "stepscope", *arguments],
            env=environment, stdout=subprocess.DEVNULL, stderr=stderr, text=True,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)


def left(place: Path) -> list[str]:
    return sorted(
        path.name
        for folder in ("tmp", "cache", "")
        for path in (place / folder).iterdir()
        if path.name not in (".lock", "cache", "tmp")
    )


@pytest.mark.parametrize(
    "moment",
    [
        (0.4, signal.SIGINT, ["--json", "report.json"]),
        (0.8, signal.SIGINT, ["--no-cache"]),
        (0.9, signal.SIGTERM, ["--json", "report.json"]),
        (1.4, signal.SIGHUP, ["--no-cache"]),
        *series(
            [
                (seconds, number, options)
                for options in (["--no-cache"], ["--json", "report.json"])
                for seconds in (0.4, 0.8, 1.2, 1.4, 1.6, 2.0, 2.4)
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            ],
            sample=0,
        ),
    ],
)
def test_an_analysis_ends_at_once(jobs: Path, tmp_path: Path, moment: tuple[float, signal.Signals, list[str]]) -> None:
    seconds, number, options = moment
    options = [str(tmp_path / option) if option.endswith(".json") else option for option in options]
    with started(["analyze", str(jobs / "job.json"), *options], tmp_path) as running:
        time.sleep(seconds)
        if running.poll() is not None:
            pytest.skip("it has ended before")
        running.send_signal(number)
        sent = time.monotonic()
        _, err = running.communicate(timeout=60)
    if running.returncode == 0:
        pytest.skip("it was about to end")
    said = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}[number]
    assert (running.returncode, err) == (128 + number, f"stepscope: {said}.\n")
    assert time.monotonic() - sent < 5  # on a busy machine; 0.4 s on one that is not
    assert [name for name in left(tmp_path) if name.startswith((".", "tmp-", "once-", "stepscope-"))] == []


def test_a_signal_ends_what_holds_the_interpreter(tmp_path: Path) -> None:
    code = (
        "import re\nfrom stepscope.cli.interrupts import end_when_interrupted\n"
        "end_when_interrupted(debug=False)\nprint('held', flush=True)\nre.match('(a*)*b', 'a' * 40)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        time.sleep(0.1)
        running.send_signal(signal.SIGTERM)
        sent = time.monotonic()
        # Its end of the pipe is the only one: the process beside it holds none.
        assert running.stdout.read() == b""
        assert running.wait(timeout=60) == -signal.SIGKILL
    assert time.monotonic() - sent < 5  # on a busy machine; 0.9 s on one that is not


def test_a_signal_is_heard_without_the_process_beside() -> None:
    code = (
        "import os, psutil, signal, time\nfrom stepscope.cli.interrupts import end_when_interrupted\n"
        "end_when_interrupted(debug=False)\n[beside] = psutil.Process().children()\nbeside.kill()\nbeside.wait()\n"
        "time.sleep(0.1)\nsignal.raise_signal(signal.SIGTERM)\ntime.sleep(60)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (143, "stepscope: terminated.\n")


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    code = (
        "import signal\nfrom stepscope.cli.interrupts import end_when_interrupted\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nend_when_interrupted(debug=False)\n"
        "assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN != signal.getsignal(signal.SIGTERM)\n"
        "signal.raise_signal(signal.SIGHUP)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_simulation_leaves_no_part(tmp_path: Path) -> None:
    out = tmp_path / "out" / "job.json"
    out.parent.mkdir()
    with started(["simulate", "--steps", "100000", "--out", str(out)], tmp_path) as running:
        end = time.monotonic() + 60
        while not list(out.parent.iterdir()) and time.monotonic() < end:
            time.sleep(0.05)
        assert list(out.parent.iterdir())
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 130
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize(
    "ended",
    series(
        [(number, to_all) for to_all in (False, True) for number in (signal.SIGINT, signal.SIGTERM)],
        sample=2,
    ),
)
def test_who_reads_several_recordings_ends_its_workers(
    jobs: Path, tmp_path: Path, ended: tuple[signal.Signals, bool]
) -> None:
    number, to_all = ended
    said = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    code = (
        "import sys\nfrom stepscope.model.sizes import SIZES\nSIZES.parallel_bytes = 0\n"
        "from stepscope.cli import entry\nentry()\n"
    )
    script = tmp_path / "script.py"
    script.write_text(f"if __name__ == '__main__':\n    {code.replace(chr(10), chr(10) + '    ')}")
    (tmp_path / "ranks").mkdir()
    for rank in range(2):
        (tmp_path / "ranks" / f"rank{rank}.json").write_bytes((jobs / "job.json").read_bytes())
    (tmp_path / "cache").mkdir()
    environment = {**os.environ, "STEPSCOPE_CACHE": str(tmp_path / "cache")}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, str(script), "analyze", str(tmp_path / "ranks")]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        signal.signal(signal.SIGINT, before)
        end = time.monotonic() + 60
        while len(list((tmp_path / "cache").glob("tmp-*"))) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        if to_all:  # as Ctrl-C, `timeout` and schedulers do
            os.killpg(running.pid, number)
        else:
            running.send_signal(number)
        _, err = running.communicate(timeout=60)  # workers that live on would hold standard error
    assert (running.returncode, err) == (128 + number, f"stepscope: {said}.\n")
    assert list((tmp_path / "cache").glob("tmp-*")) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_sentence_that_can_not_be_said_changes_no_status(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full, started(["analyze", "nowhere"], tmp_path, full.fileno()) as running:
        running.communicate(timeout=60)
    assert running.returncode == 2
    assert left(tmp_path) == []


def test_threads_that_fail_once_their_workers_are_ended_say_nothing() -> None:
    code = (
        "import threading\n"
        "from stepscope.model.process.leaving import _LEAVING, before_leaving, leave\n"
        "def fail():\n"
        "    _LEAVING.wait()\n"
        "    end.wait()\n"
        "    raise OSError('handle is closed, in close')\n"
        "end = threading.Event()\n"
        "waits = threading.Thread(target=fail)\n"
        "waits.start()\n"
        "with before_leaving(lambda: (end.set(), waits.join())):\n"
        "    leave(143, 'stepscope: terminated.\\n')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (143, "stepscope: terminated.\n")
