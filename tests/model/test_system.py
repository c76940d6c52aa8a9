"""What differs from system to system, and commands where modules and functions of Unix are missing."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from stepscope.model.process import system
from stepscope.simulate import PRESETS, simulate
from stepscope.simulate.settings import with_settings

#: Windows as far as it can be had elsewhere: no modules, functions and signals of Unix, and the lock of its C library.
WINDOWS = """
import ctypes, os, signal, sys, types
import multiprocessing.popen_spawn_posix, subprocess, tempfile, concurrent.futures.process
import duckdb, numpy, pyarrow.compute, pyarrow.parquet, rich.console, rich.progress, sysconfig, typer, wasmtime
sysconfig.get_config_vars()
locked = {}
def locking(descriptor, mode, size):
    place = (os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
    taken = {(place[0], place[1] + at) for at in range(size)}
    if mode == 0:
        if not taken & set(locked):
            raise OSError(13, "Permission denied")
        for one in taken:
            locked.pop(one, None)
    elif any(locked.get(one, descriptor) != descriptor for one in taken):
        raise PermissionError(13, "Permission denied")
    else:
        locked.update(dict.fromkeys(taken, descriptor))
sys.modules["msvcrt"] = types.SimpleNamespace(LK_UNLCK=0, LK_NBLCK=2, locking=locking)
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "syslog", "posix_ipc"):
    sys.modules[name] = None
for name in ("fork", "getuid", "geteuid", "sched_getaffinity", "killpg", "setsid", "O_NOFOLLOW"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGCHLD", "sigtimedwait", "pthread_sigmask"):
    delattr(signal, name)
def kill(pid, number):
    raise AssertionError("there, this ends the process, or is Ctrl-C")
os.kill = kill
library = ctypes.CDLL
def load(name, *rest, **more):
    if name is None:
        raise TypeError("a name is needed")
    return library(name, *rest, **more)
ctypes.CDLL = load
sys.platform = "win32"
from stepscope.cli import entry
entry()
"""


def test_a_command_needs_no_module_of_unix(tmp_path: Path) -> None:
    simulate(with_settings(PRESETS["tiny"], ["ranks=1", "steps=2", "layers=1"]), tmp_path / "job")
    environment = {**os.environ, "STEPSCOPE_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    for _ in range(2):  # once it is read, once found in the cache
        ended = subprocess.run(
            [sys.executable, "-c", WINDOWS, "analyze", str(tmp_path / "job"), "--json", str(tmp_path / "report.json")],
            env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert (ended.returncode, ended.stderr.count("Traceback")) == (0, 0), ended.stderr
    assert (tmp_path / "report.json").stat().st_size > 1000
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.name.startswith("tmp-")] == []


def test_a_function_that_the_c_library_lacks_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.library_function("no_such_function") is None
    system.library_function.cache_clear()

    def none_without_a_name(name: str | None) -> None:
        raise TypeError(name)

    monkeypatch.setattr(ctypes, "CDLL", none_without_a_name)
    assert system.library_function("strlen") is None
    system.library_function.cache_clear()


def test_processes_that_live_and_those_that_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as running:
        assert system.lives(running.pid)
        running.communicate(b"\n")
    assert not system.lives(running.pid)
    assert system.lives(os.getpid())
    assert not system.lives(0)
    assert not system.lives(-1)
    assert not system.lives(10**30)


@pytest.mark.parametrize(
    ("handle", "waited", "error", "alive"),
    [(7, 0x102, 0, True), (7, 0, 0, False), (0, 0, 5, True), (0, 0, 87, False)],
    ids=["it runs", "it has ended", "it is somebody else's", "there is none"],
)
def test_processes_on_windows(
    monkeypatch: pytest.MonkeyPatch, handle: int, waited: int, error: int, alive: bool
) -> None:
    closed: list[int] = []
    functions = SimpleNamespace(
        OpenProcess=lambda *_: handle, WaitForSingleObject=lambda *_: waited, GetLastError=lambda: error,
        CloseHandle=closed.append,
    )  # fmt: skip
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=functions), raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    assert system.lives(12) is alive
    assert closed == [handle] * bool(handle)


@pytest.mark.parametrize(
    ("devices", "gives"),
    [
        ({"0": ("0x0002", "0010010001"), "1": ("0x0005", "01100101")}, True),
        ({"0": ("0x0005", "01100001")}, False),
        ({"0": ("0x0002", "11111111")}, False),
        ({"0": ("0x0005", "011")}, False),
        ({"0": ("", "")}, False),
        ({}, False),
    ],
)
def test_only_a_balloon_that_reports_free_memory_gives_large_pages_back(
    tmp_path: Path, devices: dict[str, tuple[str, str]], gives: bool
) -> None:
    for name, (device, features) in devices.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "device").write_text(device + "\n", "ascii")
        (tmp_path / name / "features").write_text(features, "ascii")
    assert system.gives_back_large_pages(tmp_path) is gives
    assert not system.gives_back_large_pages(tmp_path / "none")
