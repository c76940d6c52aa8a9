"""The launcher's thread: a file beside the recordings, denser while a rank is recorded."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from stepscope.record.machine.files import Roots
from stepscope.record.machine.sampler import MachineSampler


def wait_for(sampler: MachineSampler, samples: int) -> None:
    until = time.monotonic() + 20
    while sampler.samples < samples and time.monotonic() < until:
        time.sleep(0.01)
    assert sampler.samples >= samples


def report(folder: Path, **values: Any) -> None:
    temporary = folder / "1.unfinished"
    temporary.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), **values}))
    temporary.replace(folder / "1.json")


@pytest.fixture
def sampler(tmp_path: Path) -> MachineSampler:
    (tmp_path / "reports").mkdir()
    return MachineSampler(tmp_path / "out", tmp_path / "reports", Roots(str(tmp_path / "proc"), str(tmp_path / "sys")))


def test_samples_lie_beside_the_recordings_and_are_denser_while_one_is_made(
    sampler: MachineSampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    sampler.start(os.getpid())
    wait_for(sampler, 1)
    (tmp_path / "out" / ".reports").mkdir(parents=True)
    report(tmp_path / "reports", first=3, stop=-1)
    # Ten times a second; without a recording three would take two seconds.
    wait_for(sampler, 4)
    assert [one.name for one in (tmp_path / "out").iterdir()] == [".reports"]
    (tmp_path / "out" / "job.pt.trace.json").touch()
    wait_for(sampler, 5)
    report(tmp_path / "reports", first=3, stop=7)
    path = sampler.stop()
    assert path is not None
    head, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert head["samples"] == "stepscope.machine/1"
    assert [line["recording"] for line in lines[:3]] == [False, True, True]
    assert (lines[-1]["unix_ns"] - lines[0]["unix_ns"]) / len(lines) < 0.9e9
    assert sampler.spent_ns < sampler.lived_ns


def test_without_a_recording_nothing_is_left(sampler: MachineSampler, tmp_path: Path) -> None:
    sampler.start(os.getpid())
    wait_for(sampler, 1)
    assert sampler.stop() is None
    assert not (tmp_path / "out").exists()
