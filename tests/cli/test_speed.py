"""What is done to the process for speed is done by the command line alone, and can be left out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from series import series
from stepscope.cli.main import run
from stepscope.cli.speed import SWITCH, TRICKS, convert_plainly, quick_process, wanted

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "stepscope"
#: Calls that change the process for all that runs in it.
CHANGES = re.compile(
    r"set_threshold|gc\.freeze|mallopt\b|sys\.meta_path|_run_exitfuncs|OPENBLAS_NUM|ARROW_DEFAULT|"
    r"gc\.disable|keep_instances\((?!number: int)"
)


def test_a_library_user_gets_none_of_it() -> None:
    code = """
import atexit, gc, os, signal, sys
def state():
    return (gc.get_threshold(), gc.isenabled(), dict(os.environ), list(sys.meta_path), signal.getsignal(signal.SIGINT))
before = state()
import stepscope
from stepscope.demo import recording
with recording() as path, stepscope.open(path, cache=False) as trace:
    trace.analyze(), trace.whatif(), trace.table("kernels").to_pandas()
assert state() == before, (before, state())
assert not [name for name in sys.modules if name.startswith("stepscope.cli")]
assert "pandas" in sys.modules
"""
    pytest.importorskip("pandas")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_is_in_one_file() -> None:
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    files = {name for name, text in sources.items() if CHANGES.search(text)}
    # Texts of rules advise users to do so in their own programs; in a recorded program the import of torch is awaited.
    elsewhere = {
        "rules/host/gc_pauses.py", "rules/host/host_pauses.py", "guide/tree.py", "record/job/imports.py",
    }  # fmt: skip
    assert files - elsewhere == {"cli/speed.py"}


def test_the_switch_leaves_out_all_or_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    assert all(map(wanted, TRICKS))
    monkeypatch.setenv(SWITCH, "pandas,heaps")
    assert {name for name in TRICKS if not wanted(name)} == {"pandas", "heaps"}
    monkeypatch.setenv(SWITCH, "all")
    finders = list(sys.meta_path)
    with quick_process():
        assert sys.meta_path == finders
    assert not any(map(wanted, TRICKS))


@pytest.mark.parametrize(("kind", "plain", "else_"), [(bool, True, "yes"), (int, 0, "-3"), (int, 0, True)])
def test_flags_and_numbers_not_given_need_no_converter(kind: type, plain: object, else_: object) -> None:
    parameter = SimpleNamespace(
        type_descriptor=SimpleNamespace(annotation=kind), callback=None, required=False, nargs=1,
        process_value=lambda _ctx, value: f"Typer's {value}",
    )  # fmt: skip
    convert_plainly([parameter])
    assert parameter.process_value(None, plain) is plain
    assert parameter.process_value(None, else_) == f"Typer's {else_}"


@pytest.mark.parametrize("left_out", series(["", "all"], 1))
def test_a_report_is_the_same_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], left_out: str
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["demo"]) == 0  # here it is without, too
    done = subprocess.run(
        [sys.executable, "-m", "stepscope", "demo"], capture_output=True, text=True, check=False,
        env={**os.environ, SWITCH: left_out, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == capsys.readouterr().out
