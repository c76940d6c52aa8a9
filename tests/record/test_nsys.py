"""`stepscope record --with nsys`, with an `nsys` that refuses options the real one lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from record_support import SOURCES, Recorded
from stepscope.model.errors import UserError
from stepscope.record import nsys
from stepscope.record.job.identity import JobProcess
from stepscope.record.job.nsight import NsightCapture
from stepscope.record.settings import RecordSettings
from stepscope.simulate import PRESETS, simulate

FAKES = Path(__file__).parent / "fakes"
TRAIN = """
import sys
import torch
from torch.utils.data import DataLoader
optimizer = torch.optim.SGD()
for step, batch in enumerate(DataLoader(range(8))):
    torch.cuda.init()
    optimizer.step()
print("trained")
sys.exit(7)
"""
#: As in the user guide of Nsight Systems: options of `nsys profile` and of `nsys export`, with values they may have.
NSYS = """#!{python}
import os, re, shutil, subprocess, sys
from pathlib import Path
KNOWN = {{
    "profile": {{
        "trace": "(cuda|nvtx|osrt|cudnn|cublas|mpi|none)(,(cuda|nvtx|osrt|cudnn|cublas|mpi))*",
        "trace-fork-before-exec": "true|false", "cuda-graph-trace": "graph|node",
        "sample": "none|process-tree|system-wide",
        "backtrace": "none|auto|fp|lbr|dwarf", "cpuctxsw": "none|process-tree|system-wide",
        "capture-range": "none|cudaProfilerApi|nvtx|hotkey",
        "capture-range-end": r"none|stop|stop-shutdown|repeat(:\\d+)?|repeat-shutdown:\\d+", "output": ".+",
    }},
    "export": {{"type": "sqlite", "include-json": "true|false", "force-overwrite": "true|false", "output": ".+"}},
}}
verb, rest = sys.argv[1], sys.argv[2:]
given = {{}}
while rest and rest[0].startswith("--"):
    name, _, value = rest.pop(0)[2:].partition("=")
    if not re.fullmatch(KNOWN[verb].get(name, ""), value):
        sys.exit(f"unrecognised option '--{{name}}={{value}}'")
    given[name] = value
if verb == "export":
    [report] = rest
    if Path(report).read_text() != "report":
        sys.exit("Importer error.")
    shutil.copy({export!r}, given["output"])
    sys.exit()
status = subprocess.call(rest, env={{**os.environ, "FAKE_NSYS_RANGE": {range!r}}})
print(*sorted(set(given)), file=sys.stderr)
if Path({range!r}).exists():
    Path(given["output"] + ".nsys-rep").write_text({report!r})
sys.exit(status)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an `nsys` that is the first on the PATH."""
    simulate(replace(PRESETS["tiny"], ranks=1, steps=3), tmp_path / "export.sqlite", "nsight")
    (tmp_path / "bin").mkdir()
    install(tmp_path, "report")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    return tmp_path


def install(folder: Path, report: str) -> None:
    """Have the `nsys` of a folder write such a report."""
    values = {"export": str(folder / "export.sqlite"), "range": str(folder / "range"), "report": report}
    path = folder / "bin" / "nsys"
    path.write_text(NSYS.format(python=sys.executable, **values))
    path.chmod(0o755)


def record(folder: Path, *options: str) -> Recorded:
    (folder / "program.py").write_text(TRAIN)
    command = [
        sys.executable,
        "-m",
        "stepscope",
        "record",
        "--no-machine",
        "--with",
        "nsys",
        "-o",
        "out",
        "--steps",
        "3:5",
        *options,
    ]
    paths = os.pathsep.join([str(SOURCES), str(FAKES)])
    done = subprocess.run(
        [*command, "--", sys.executable, "program.py"],
        capture_output=True, text=True, cwd=folder, timeout=60, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    return Recorded(done.returncode, done.stdout, done.stderr, folder / "out")


def test_the_chosen_steps_are_captured_exported_and_analysed(folder: Path) -> None:
    recorded = record(folder, "--nsys-option=--sample=process-tree")
    assert recorded.status == 7, recorded.errors
    assert recorded.output.startswith("trained\n")
    assert "out/nsys.sqlite\nPyTorch training" in recorded.output
    assert sorted(path.name for path in recorded.folder.iterdir()) == ["nsys.nsys-rep", "nsys.sqlite"]
    marks = ["operators True", "ProfilerStep#3", "pop", "ProfilerStep#4", "pop", "no operators"]
    assert (folder / "range").read_text() == f"start []\nstop {marks}\n"
    assert "recorded steps 3 to 4 (steps are updates by the optimizer) of rank 0" in recorded.errors


def test_a_program_without_a_gpu(fakes: None, folder: Path) -> None:
    with pytest.raises(RuntimeError, match="this process has used none so far"):
        NsightCapture(settings(folder)).start(JobProcess(0, 1, False), {})
    assert nsys.export(folder) == ["nsys wrote no report: the recorded steps were not reached, or nsys was stopped"]


def test_beside_a_profiler_of_the_programs_own(fakes: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def enter(self: object) -> None:
        raise RuntimeError("Can't enable profiler on this thread")

    monkeypatch.setenv("FAKE_NSYS_RANGE", str(tmp_path / "range"))
    monkeypatch.setattr(torch.autograd.profiler.emit_nvtx, "__enter__", enter)
    torch.cuda.init()
    capture = NsightCapture(settings(tmp_path))
    capture.start(JobProcess(0, 1, False), {})
    capture.mark(3)
    capture.stop()
    assert capture.write() == "the recording has no operators (Can't enable profiler on this thread)"
    assert (tmp_path / "range").read_text() == "start []\nstop ['ProfilerStep#3', 'pop']\n"


def settings(folder: Path, **more: object) -> RecordSettings:
    return replace(RecordSettings(str(folder / "out"), str(folder)), **more)


def test_options_of_the_user_count_instead_of_ours(folder: Path) -> None:
    command = nsys.profiled(["python", "train.py"], settings(folder), ["--sample=process-tree", "--trace=cuda"])
    assert command[:2] == [str(folder / "bin" / "nsys"), "profile"]
    assert command[-4:] == ["--sample=process-tree", "--trace=cuda", "python", "train.py"]
    assert "--sample=none" not in command
    assert "--capture-range-end=stop" in command
    assert "--capture-range-end=repeat:20" in nsys.profiled(["python"], settings(folder, every=9), [])


def test_a_report_that_can_not_be_exported(folder: Path) -> None:
    (folder / "nsys.nsys-rep").write_text("cut")
    assert nsys.export(folder) == [f"{folder / 'nsys.nsys-rep'} was not exported: nsys says 'Importer error.'"]


def test_without_nsys_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="there is no `nsys` on the PATH; install it, or leave --with out"):
        nsys.profiled(["python"], settings(tmp_path), [])
    assert not (tmp_path / "out").exists()


def test_what_is_no_option_or_no_profiler(folder: Path) -> None:
    from stepscope.cli.main import run

    with pytest.raises(UserError, match="--nsys-option sample is no option of nsys"):
        nsys.profiled(["python"], settings(folder), ["sample"])
    for options in (["--with", "perf"], ["--nsys-option=--sample=none"]):
        assert run(["record", *options, "--", "true"]) == 2
