"""What means nothing to a job changes nothing of its diagnosis: names, order, clocks, resolution, speed.

The variants are those of `bench.recordings.variants`, on simulated recordings whose cause is known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.recordings.answer import Answer, answer
from bench.recordings.label import Label
from bench.recordings.score import Verdict, judge
from bench.recordings.variants.__main__ import made
from bench.recordings.variants.catalogue import variants
from bench.recordings.variants.judging import faults
from bench.recordings.variants.recording import NotApplicableError

from series import WHOLE
from stepscope.simulate import SimJob, simulate

#: A job by format and cause: the family of its first finding.
JOBS = {
    "kineto": ("no-workers", "data", "trace.json"),
    "nsight": ("sync-every-op", "synchronisation", "trace.sqlite"),
}
#: None of these takes anything away.
HARMLESS = (
    "another file name", "shuffled", "other processes and threads", "other streams", "other numbers of steps",
    "without names of threads", "ten days later", "in microseconds", "device -80 µs", "device +80 µs", "device +2 ms",
    "device drifts by 50 ppm", "without device properties", "idle before and after", "without flows",
    "all times x 1.3",
)  # fmt: skip


def cases() -> list[Any]:
    """Every change of every job; in a sample one of the first, and another of the second."""
    return [
        pytest.param(kind, name, marks=pytest.mark.series)
        for place, kind in enumerate(JOBS)
        for turn, name in enumerate(HARMLESS)
        if WHOLE or turn == 4 * place + 2
    ]


@pytest.fixture(scope="module")
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict]:
    """A recording, and what is said of it."""
    fault, family, name = JOBS[request.param]
    folder = tmp_path_factory.mktemp("job")
    [path] = simulate(SimJob(steps=4), folder / name, request.param, faults=(fault,))
    label = Label(name, "training", 4, (family,), (), (), None, 1.0)
    verdict = judge(label, answer(path, folder / "store"))
    assert verdict.first
    assert verdict.steps
    return path, verdict


@pytest.mark.parametrize(("job", "name"), cases(), indirect=["job"])
def test_a_harmless_change_leaves_the_diagnosis(job: tuple[Path, Verdict], name: str, tmp_path: Path) -> None:
    path, base = job
    [variant] = [one for one in variants() if one.name == name]
    try:
        changed = made(path, variant, tmp_path)
    except NotApplicableError:
        pytest.skip("the format has nothing of the kind")
    assert list(faults(base, answer(changed, tmp_path / "store"), variant)) == []


@pytest.mark.parametrize("job", JOBS, indirect=True)
def test_a_fault_is_seen(job: tuple[Path, Verdict]) -> None:
    _, base = job
    [variant] = [one for one in variants() if one.name == "shuffled"]
    silent = Answer((), "", "", 0, 0, None, ("step_budget",))
    assert len(list(faults(base, silent, variant))) == 3
