"""`stepscope record` from its command line to the recordings, with a torch that refuses what the real one lacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from record_support import SOURCES, Recorded
from stepscope.ingest import Options, open_trace

FAKES = Path(__file__).parent / "fakes"
TRAIN = """
import sys
import torch
from torch.utils.data import DataLoader
optimizer = torch.optim.SGD()
for step, batch in enumerate(DataLoader(range({steps}))):
    with torch.profiler.record_function(f"body {{step}}"):
        optimizer.step()
print("trained", *sys.argv[1:])
"""


def record(folder: Path, code: str, *options: str, **variables: str) -> Recorded:
    """Record a program given as text."""
    (folder / "program.py").write_text(code)
    return recorded(folder, *options, "--", sys.executable, "program.py", "--lr", "1", **variables)


def recorded(folder: Path, *arguments: str, **variables: str) -> Recorded:
    """What `stepscope record` with these arguments leaves."""
    done = subprocess.run(
        [sys.executable, "-m", "stepscope", "record", "-o", "out", "--no-report", *arguments],
        capture_output=True, text=True, cwd=folder, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(FAKES)]), **variables},
    )  # fmt: skip
    return Recorded(done.returncode, done.stdout, done.stderr, folder / "out")


def test_four_steps_are_marked(tmp_path: Path) -> None:
    recorded = record(tmp_path, TRAIN.format(steps=20))
    assert recorded.status == 0, recorded.errors
    assert recorded.output == "trained --lr 1\n"
    assert list(recorded.starts_of("ProfilerStep#")) == [10, 11, 12, 13]
    assert list(recorded.starts_of("body ")) == [10, 11, 12, 13]
    assert "recorded steps 10 to 13 (steps are updates by the optimizer) of rank 0" in recorded.errors
    # Nothing unfinished is left.
    assert sorted(path.suffix for path in recorded.folder.iterdir()) == [".json", ".jsonl"]


@pytest.mark.parametrize("options", [[], ["--watch", "--"]])
def test_a_file_alone_is_run_by_this_python(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TRAIN.format(steps=20))
    found = recorded(tmp_path, *options, "program.py", "--lr", "1")
    assert (found.status, found.output) == (0, "trained --lr 1\n"), found.errors
    assert bool(found.files) == (not options)


def test_other_steps(tmp_path: Path) -> None:
    recorded = record(tmp_path, TRAIN.format(steps=20), "--steps", "3:4", "--warmup", "0")
    assert list(recorded.starts_of("ProfilerStep#")) == [3]
    assert "recorded step 3 " in recorded.errors


def test_a_program_that_ends_too_early(tmp_path: Path) -> None:
    recorded = record(tmp_path, TRAIN.format(steps=5))
    assert recorded.status == 0
    assert not recorded.folder.exists()
    assert "ended after 5 steps, before step 10; record earlier ones with --steps 1:5." in recorded.errors


def test_a_rank_is_named_by_its_launcher(tmp_path: Path) -> None:
    recorded = record(tmp_path, TRAIN.format(steps=20), RANK="1", WORLD_SIZE="2")
    assert list(recorded.files) == [1]
    assert recorded.trace(1)["distributedInfo"] == {"rank": 1, "world_size": 2}


def test_a_rank_that_was_not_asked_for(tmp_path: Path) -> None:
    recorded = record(tmp_path, TRAIN.format(steps=20), "--ranks", "0,7", RANK="1", WORLD_SIZE="2")
    assert not recorded.folder.exists()
    assert "this rank was not asked for" in recorded.errors


def test_exit_status_and_output_are_the_programs(tmp_path: Path) -> None:
    recorded = record(tmp_path, "import sys\nprint('out')\nsys.exit(7)\n")
    assert (recorded.status, recorded.output) == (7, "out\n")
    assert "no process of the program imported torch" in recorded.errors


def test_a_program_without_torch_sees_nothing_of_it(tmp_path: Path) -> None:
    code = "import sys\nprint([m for m in sys.modules if 'record.job.' in m], [p for p in sys.path if 'inject' in p])\n"
    assert record(tmp_path, code).output == "['stepscope.record.job.imports'] []\n"


def test_the_environments_own_customisation_is_loaded(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.customised = __name__\n")
    paths = os.pathsep.join([str(own), str(SOURCES)])
    assert record(tmp_path, "print(customised)\n", PYTHONPATH=paths).output == "sitecustomize\n"


def test_a_program_whose_python_lacks_stepscope(tmp_path: Path) -> None:
    """The launcher's own package is used, and nothing else of its environment."""
    from stepscope.record.launch import environment
    from stepscope.record.settings import RecordSettings

    (tmp_path / "program.py").write_text(TRAIN.format(steps=20))
    settings = RecordSettings(str(tmp_path / "out"), str(tmp_path))
    variables = environment(settings, {"PATH": os.environ["PATH"], "PYTHONPATH": str(FAKES)})
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import site; site.execsitecustomize(); exec(open('program.py').read())"],
        capture_output=True, text=True, cwd=tmp_path, env=variables, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list(Recorded(0, "", "", tmp_path / "out").starts_of("ProfilerStep#")) == [10, 11, 12, 13]


def test_calls_of_a_model_where_there_is_nothing_else(tmp_path: Path) -> None:
    code = (
        "import time, torch\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self): time.sleep(0.02)\n"
        "model = Model()\n"
        "for _ in range(60): model()\n"
        "assert not model._forward_pre_hooks\n"
    )
    recorded = record(tmp_path, code, "--steps", "3:5")
    assert recorded.status == 0, recorded.errors
    assert list(recorded.starts_of("ProfilerStep#")) == [3, 4]
    assert "steps are calls of the model" in recorded.errors


def killed(folder: Path, how: str) -> Recorded:
    """Record a program that ends in step 12."""
    code = TRAIN.format(steps=20).replace(
        "        optimizer.step()", f"        optimizer.step()\n        if step == 12:\n            {how}"
    )
    return record(folder, "import os, signal\n" + code)


def codes(path: Path) -> dict[str, str]:
    """Code and message of each line of health of a recording, which must open."""
    with open_trace(path, Options(cache=False)) as trace:
        return {line["code"]: line["message"] for line in trace.rows("SELECT code, message FROM health")}


def test_a_killed_program_leaves_the_marks_of_its_steps(tmp_path: Path) -> None:
    recorded = killed(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    assert recorded.status == 128 + 9
    assert "rank 0 was killed while its steps from 10 on were recorded; their marks are left" in recorded.errors
    [left] = recorded.folder.glob("*.json")
    with open_trace(left, Options(cache=False)) as trace:
        steps = trace.rows("SELECT number, source FROM steps")
    assert [tuple(step.values()) for step in steps] == [(10, "profiler"), (11, "profiler")]
    assert (
        codes(left)["recording-partial"] == "the recording is not whole: the program was killed while it was recorded"
    )


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGTERM)", 128 + 15, "the program was terminated"),
        ("sys.exit(4)", 4, "the program ended"),
        ("raise ValueError('bad loss')", 1, "the program ended"),
    ],
)
def test_a_program_that_ends_while_it_is_recorded(how: str, status: int, reason: str, tmp_path: Path) -> None:
    recorded = killed(tmp_path, how)
    assert recorded.status == status, recorded.errors
    [left] = recorded.folder.glob("*.json")
    assert list(recorded.starts_of("ProfilerStep#")) == [10, 11, 12]
    assert codes(left)["recording-partial"] == f"the recording is not whole: {reason}"
    assert ("bad loss" in recorded.errors) == (status == 1)


def test_a_program_that_handles_its_termination_itself(tmp_path: Path) -> None:
    how = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); os.kill(os.getpid(), signal.SIGTERM)"
    recorded = killed(tmp_path, how)
    assert recorded.status == 5
    assert list(recorded.starts_of("ProfilerStep#")) == [10, 11, 12]


@pytest.mark.parametrize(
    ("export", "left"),
    [
        # The disk is full, and the profiler says nothing, or it says so.
        ("whole = Path(path).read_text(); Path(path).write_text(whole[: len(whole) // 2])", "ProfilerStep#10"),
        # As torch 2.13 does: what is written has another name until it is whole.
        ("text = Path(path).read_text(); Path(path).unlink(); Path(path + '.tmp').write_text(text[:-99])", "body 13"),
        ("Path(path).unlink(); raise OSError(28, 'No space left on device')", "ProfilerStep#12"),
    ],
)
def test_a_full_disk_leaves_what_is_written(export: str, left: str, tmp_path: Path) -> None:
    patch = (
        "from pathlib import Path\nimport torch\nsave = torch.profiler._KinetoProfile.export_chrome_trace\n"
        f"def full(self, path):\n    save(self, path); {export}\n"
        "torch.profiler._KinetoProfile.export_chrome_trace = full\n"
    )
    recorded = record(tmp_path, patch + TRAIN.format(steps=20))
    assert (recorded.status, recorded.output) == (0, "trained --lr 1\n")
    assert "the recording is cut (" in recorded.errors
    [path] = recorded.folder.glob("*.json")
    assert left in path.read_text()
    assert "truncated" in codes(path)
    assert not list(recorded.folder.glob(".*"))


def test_a_stretch_of_time_where_no_step_is_found(tmp_path: Path) -> None:
    # It ends once its recording is whole.
    code = (
        "import time, torch\nfrom pathlib import Path\nend = time.monotonic() + 20\n"
        "def whole(path): return 'stepscope_partial' not in path.read_text()\n"
        "while not any(map(whole, Path('out').glob('*.json'))) and time.monotonic() < end: time.sleep(0.05)\n"
    )
    recorded = record(tmp_path, code, "--patience", "1")
    assert recorded.status == 0, recorded.errors
    assert recorded.trace()["stepscope"] == {"steps": "time"}
    assert "recorded a stretch of time, since no steps were found" in recorded.errors


def test_options_behind_the_program_are_its_own(tmp_path: Path) -> None:
    code = "import sys\nprint(sys.argv[1:])\n"
    (tmp_path / "program.py").write_text(code)
    for marked in ([], ["--"]):
        command = [sys.executable, "-m", "stepscope", "record", "-o", "out", *marked]
        done = subprocess.run(
            [*command, sys.executable, "program.py", "--debug", "--steps", "--", "-o"],
            capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(SOURCES)},
        )  # fmt: skip
        assert done.stdout == ("['--debug', '--steps', '--', '-o']\n" if marked else "['--steps', '--', '-o']\n")


def starts(recorded: Recorded) -> list[list[int]]:
    """Numbers of the steps of each recording, in time order."""
    found = []
    for path in sorted(recorded.folder.glob("*.json"), key=lambda one: one.name.split(".")[1]):
        names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
        found.append([int(name.split("#")[1]) for name in names if name.startswith("ProfilerStep#")])
    return found


def test_recordings_at_intervals(tmp_path: Path) -> None:
    recorded = record(tmp_path, TRAIN.format(steps=40), "--steps", "3:5", "--every", "15")
    assert starts(recorded) == [[3, 4], [18, 19], [33, 34]]
    assert "of rank 0, the last of 3 recordings" in recorded.errors


def test_a_recording_that_the_program_asks_for(tmp_path: Path) -> None:
    ask = "        optimizer.step()\n        if step == 20: assert stepscope.record_now()"
    code = "import stepscope\n" + TRAIN.format(steps=40).replace("        optimizer.step()", ask)
    assert starts(record(tmp_path, code, "--steps", "3:5")) == [[3, 4], [8, 9]]


@pytest.mark.parametrize("how", ["signal", "touch"])
def test_a_recording_that_somebody_asks_for(how: str, tmp_path: Path) -> None:
    ask = {"signal": "os.kill(os.getppid(), signal.SIGUSR2)", "touch": "open('now', 'w').close()"}[how]
    pause = f"        optimizer.step(); time.sleep(0.01)\n        if step == 20: {ask}; time.sleep(0.3)"
    code = "import os, signal, time\n" + TRAIN.format(steps=40).replace("        optimizer.step()", pause)
    option = ["--signal", "USR2"] if how == "signal" else ["--touch", "now"]
    [numbers] = starts(record(tmp_path, code, *option))
    assert numbers == [23, 24, 25, 26]


def test_a_slow_step_triggers_a_recording(tmp_path: Path) -> None:
    pause = "        optimizer.step(); time.sleep(0.5 if step == 20 else 0.02)"
    code = "import time\n" + TRAIN.format(steps=40).replace("        optimizer.step()", pause)
    # A machine that is busy makes others twice as long, too.
    [numbers] = starts(record(tmp_path, code, "--trigger", "slow-step", "--slow", "12"))
    assert numbers == [23, 24, 25, 26]


def test_nobody_asks(tmp_path: Path) -> None:
    recorded = record(tmp_path, TRAIN.format(steps=20), "--touch", "now")
    assert "nobody asked for it in 20 steps" in recorded.errors


def test_asking_outside_of_a_recorded_program() -> None:
    import stepscope

    assert not stepscope.record_now()


def test_what_fails_in_the_profiler_does_not_end_the_program(tmp_path: Path) -> None:
    code = TRAIN.format(steps=20).replace(
        "import torch\n", "import torch\ntorch.profiler._KinetoProfile.start_trace = None\n"
    )
    recorded = record(tmp_path, code)
    assert (recorded.status, recorded.output) == (0, "trained --lr 1\n")
    assert "'NoneType' object is not callable" in recorded.errors


OWN = """
import torch
optimizer = torch.optim.SGD()
for step in range(40):
    if step == {first}:
        own = torch.profiler._KinetoProfile()
        own.prepare_trace()
        own.start_trace()
    optimizer.step()
    if step == {last}:
        own.stop_trace()
"""


@pytest.mark.parametrize(
    ("first", "last", "steps", "said"),
    [
        (3, 10, [14, 15, 16, 17], "the program's own profiler was at work in step 8, and goes first"),
        (9, 10, [14, 15, 16, 17], "the program's own profiler was at work in step 10, and goes first"),
        (
            12,
            20,
            [10, 11, 12],
            "recorded steps 10 to 11, and the beginning of step 12, in which the program started its own",
        ),
        (3, 39, [], "nothing was recorded: the steps asked for could not be"),
    ],
)
def test_profilers_of_the_program_go_first(first: int, last: int, steps: list[int], said: str, tmp_path: Path) -> None:
    recorded = record(tmp_path, OWN.format(first=first, last=last), "--no-machine")
    assert recorded.status == 0, recorded.errors
    assert said in recorded.errors
    assert (list(recorded.starts_of("ProfilerStep#")) if recorded.files else []) == steps


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "4"], "--steps 4 is no range of steps"),
        (["--steps", "4:4"], "--steps 4:4 is no range of steps"),
        (["--ranks", "a"], "--ranks a is no list of ranks"),
        (["--signal", "KILL"], "--signal KILL can't ask for recordings; give USR1 or USR2"),
        (["--trigger", "fast"], "no trigger is called fast"),
    ],
)
def test_wrong_use(options: list[str], message: str, tmp_path: Path) -> None:
    recorded = record(tmp_path, "", *options)
    assert recorded.status == 2
    assert message in recorded.errors


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "trace.json").write_text(json.dumps({}))
    recorded = record(tmp_path, "print('ran')")
    assert (recorded.status, recorded.output) == (2, "")
    assert "is not empty; give --output a folder of its own" in recorded.errors


def test_a_program_that_is_no_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stepscope", "record", "-o", str(tmp_path / "out"), "--", "trian.py"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(SOURCES)})
    assert done.returncode == 2
    assert "trian.py can't be started (No such file or directory)" in done.stderr
    assert "give a Python file or a command, as you would start it" in done.stderr
