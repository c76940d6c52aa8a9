"""The damage that `bench.damage` does, in small: what it counts, and that it finds what must be found."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from bench.damage import case as cases
from bench.damage import workers
from bench.damage.case import FAILED, GONE, READ, REFUSED, SILENT, Case, Clean, clean, outcome
from bench.damage.mutations import MUTATIONS, REMOVING, damaged
from bench.damage.processes import crowds, full_disks, kills
from bench.damage.recordings import Recording, recordings
from bench.damage.workers import processor_seconds

from series import rounds
from stepscope.simulate import PRESETS, simulate
from stepscope.simulate.settings import with_settings


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> list[Recording]:
    return recordings(tmp_path_factory.mktemp("recordings"))


@pytest.fixture(scope="module")
def plain(known: list[Recording]) -> Recording:
    """Bytes that are damaged as such, whatever they say."""
    [content] = known[0].files.values()
    return Recording("bytes", {"trace": content}, "trace")


def test_every_source_and_packing_is_there(known: list[Recording]) -> None:
    sources = {recording.source.split(",")[0] for recording in known}
    assert sources == {"kineto", "ascend", "ascend-db", "nsight", "nsight-host", "memsnapshot"}
    assert len(known) > len(sources)


def test_a_seed_is_one_damage_and_every_mutation_does_some(known: list[Recording], plain: Recording) -> None:
    assert damaged(known[0], 3, 5) == damaged(known[0], 3, 5)
    told = " ".join(damaged(plain, 1, seed)[1] for seed in range(200))
    assert all(mutation.__name__ in told for mutation in MUTATIONS)
    changed = sum(damaged(plain, 1, seed)[0].files != plain.files for seed in range(50))
    assert changed > 40


@pytest.mark.series
def test_damaged_recordings_are_read_or_refused_and_losses_said(known: list[Recording]) -> None:
    undamaged = {0: clean(known[0])}
    verdicts = [outcome(Case(0, 1, seed), known, undamaged).verdict for seed in range(rounds(12, 3))]
    assert set(verdicts) <= {READ, REFUSED, GONE}


def test_what_must_not_be_is_found(plain: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [plain]
    said = {"options-off": 1}
    monkeypatch.setattr(cases, "_analysed", lambda *_: ({"events": 9}, said))
    before = {0: Clean({"events": 10}, {"options-off": 1}, 1.0)}
    removing = {seed: any(name in damaged(known[0], 1, seed)[1] for name in REMOVING) for seed in range(20)}
    found = {seed: outcome(Case(0, 1, seed), known, before).verdict for seed in removing}
    assert found == {seed: GONE if taken else SILENT for seed, taken in removing.items()}
    assert set(found.values()) == {GONE, SILENT}
    said["events-lost"] = 1
    assert outcome(Case(0, 1, 1), known, before).verdict == READ

    def fails(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(cases, "_analysed", fails)
    found = outcome(Case(0, 1, 1), known, before)
    assert found.verdict == FAILED
    assert "ZeroDivisionError: oops (test_damage.py:" in found.detail


@pytest.mark.skipif(sys.platform != "linux", reason="processor time is known there")
def test_a_process_is_late_by_what_it_spends_and_not_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = processor_seconds(os.getpid())
    sum(range(5_000_000))
    assert 0 < processor_seconds(os.getpid()) - spent < 60
    clock, used = [0.0], [0.0]
    monkeypatch.setattr(workers, "monotonic", lambda: clock[0])
    monkeypatch.setattr(workers, "processor_seconds", lambda _: used[0])
    watch = workers.Watch(os.getpid())

    def after(clock_seconds: float, used_seconds: float) -> bool:
        clock[0], used[0] = clock_seconds, used_seconds
        return watch.is_late(limit=7.0)

    assert not any(after(9.0 * seconds, seconds) for seconds in range(1, 7))  # busy machine
    assert after(64.0, 7.1)  # it works without end
    watch = workers.Watch(os.getpid())
    assert not after(70.0, 7.2)
    assert after(80.5, 7.2)  # it waits without end
    watch = workers.Watch(os.getpid())
    assert not any(after(80.5 + seconds, 7.2 + seconds / 100) for seconds in range(70))
    assert after(151.0, 8.0)  # it waits again and again


@pytest.mark.series
@pytest.mark.skipif(sys.platform != "linux", reason="commands are forked")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_crowds_kills_and_full_disks_leave_nothing(tmp_path: Path) -> None:
    import subprocess

    simulate(with_settings(PRESETS["tiny"], [f"ranks={rounds(2, 1)}", "steps=2", "layers=1"]), tmp_path / "job")
    assert all(callable(experiment) for experiment in (crowds, kills, full_disks))
    code = (
        "import sys\nfrom pathlib import Path\nfrom time import monotonic\nfrom bench.damage import processes\n"
        "folder = Path(sys.argv[1])\n"
        "processes.import_all()\n"
        "for experiment in (processes.crowds, processes.kills, processes.full_disks):\n"
        "    counted = experiment(folder, folder / 'job', int(sys.argv[2]), 1, monotonic() + 60)\n"
        "    assert counted.runs and not counted.failures and not counted.left, (experiment, counted)\n"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), str(rounds(3, 1))],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
