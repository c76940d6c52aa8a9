"""Real programs, written as users write them: `stepscope record` marks the right steps in all of them.

Each program puts a range `body N` around the N-th iteration of its loop, which each mark of a step must enclose.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from record_support import HAS_TORCH, Recorded, record

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")


def bodies_of_steps(recorded: Recorded, rank: int = 0) -> dict[int, set[int]]:
    """Numbers of the iterations that begin in each marked step; each must end there, too."""
    events = recorded.ranges(rank)
    steps = [(int(name.split("#")[1]), ts, end) for name, ts, end in events if re.fullmatch(r"ProfilerStep#\d+", name)]
    bodies = [(int(name.split()[1]), ts, end) for name, ts, end in events if re.fullmatch(r"body \d+", name)]
    found: dict[int, set[int]] = {}
    for number, start, end in steps:
        inside = [(one, last) for one, first, last in bodies if start <= first < end]
        assert all(last <= end for _, last in inside), (number, inside)
        found[number] = {one for one, _ in inside}
    return found


EXACT = {10: {10}, 11: {11}, 12: {12}, 13: {13}}


@pytest.mark.parametrize(
    "program",
    [
        "plain.py",
        "accumulation.py",
        "gan.py",
        "huggingface.py",
        "lightning.py",
        "inference.py",
    ],
)
def test_steps_of_a_program_with_a_loader(program: str, tmp_path: Path) -> None:
    recorded = record(tmp_path, program)
    assert recorded.status == 0, recorded.errors
    assert bodies_of_steps(recorded) == EXACT


@pytest.mark.parametrize("variant", [[], ["compiled"]])
def test_steps_without_a_loader_reach_from_update_to_update(variant: list[str], tmp_path: Path) -> None:
    # An update ends within its iteration, so that the mark ends there, and what is left of it is in the next one.
    recorded = record(tmp_path, "without_loader.py", *variant)
    assert recorded.status == 0, recorded.errors
    starts = recorded.starts_of("body")
    ends = {int(name.split("#")[1]): end for name, _, end in recorded.ranges() if name.startswith("ProfilerStep#")}
    assert list(ends) == [10, 11, 12, 13]
    assert all(starts[n] < ends[n] for n in (11, 12, 13))
    assert all(ends[n] < starts[n + 1] for n in (10, 11, 12))


def test_steps_of_inference_without_a_loader_are_calls_of_the_model(tmp_path: Path) -> None:
    recorded = record(tmp_path, "inference.py", "calls")
    assert recorded.status == 0, recorded.errors
    marks = recorded.starts_of("ProfilerStep#")
    bodies = sorted(recorded.starts_of("body").values())
    assert list(marks) == [10, 11, 12, 13]
    # From one call to the next there is the start of one iteration.
    between = [
        sum(low < at < high for at in bodies)
        for low, high in zip(list(marks.values()), list(marks.values())[1:], strict=False)
    ]
    assert between == [1, 1, 1]


def test_each_rank_of_torchrun_writes_a_recording(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    recorded = record(tmp_path, "distributed.py", starting=command)
    assert recorded.status == 0, recorded.errors
    assert sorted(recorded.files) == [0, 1]
    assert bodies_of_steps(recorded, 0) == bodies_of_steps(recorded, 1) == EXACT
    assert all(recorded.trace(rank)["distributedInfo"]["rank"] == rank for rank in (0, 1))


def test_only_the_ranks_asked_for(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    recorded = record(tmp_path, "distributed.py", starting=command, options=["--ranks", "1"])
    assert sorted(recorded.files) == [1]


def test_the_program_runs_as_it_does_alone(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, torch\n"
        "print(sys.argv, os.getcwd(), [p for p in sys.path if 'inject' in p], type(torch.__spec__.loader))\n"
        "print('to stderr', file=sys.stderr)\n"
        "sys.exit(3)\n"
    )
    alone = subprocess.run([sys.executable, program, "a b", "--steps"], capture_output=True, text=True, cwd=tmp_path)
    recorded = record(tmp_path, str(program), "a b", "--steps")
    assert recorded.status == alone.returncode == 3
    assert recorded.output == alone.stdout
    assert recorded.errors.startswith(alone.stderr)
    assert "no step was found" in recorded.errors or "imported torch" in recorded.errors
