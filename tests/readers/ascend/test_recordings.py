"""Every shared recording conforms, whole and damaged; and every analysis runs on it or says what it lacks."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from readers.conformance import check_invariants, check_report, check_splits, open_fresh
from series import series
from stepscope.analyses.registry import analyses
from stepscope.model.errors import MissingInputError, StepscopeError
from support import recorded_trace, shared

RANKS = [
    f"alexnet_ddp_{kind}/rank{rank}_ascend_pt"
    for kind in ("level0_text", "level1_text", "level1_db")
    for rank in (0, 1)
]
OTHERS = ["mstt_timeline_advice", "mstt_compute_advice"]
_DAMAGES = ("cut", "noise", "hole", "zeros", "empty", "missing")


@pytest.mark.parametrize("path", [*RANKS, *OTHERS])
def test_it_conforms(path: str) -> None:
    with recorded_trace("ascend", path) as trace:
        assert [recording.reader for recording in trace.recordings.values()] == ["ascend"]
        check_invariants(trace)
        check_splits(trace)


@pytest.mark.parametrize("path", [RANKS[0], RANKS[2], RANKS[4], *OTHERS])
def test_every_analysis_runs_or_says_what_it_lacks(path: str) -> None:
    done = 0
    with recorded_trace("ascend", path) as trace:
        for analysis in analyses().values():
            try:
                analysis.run(trace)
                done += 1
            except MissingInputError as error:
                _check_sentence(error)
    assert done >= 4


@pytest.mark.parametrize(
    ("path", "ranks"),
    [
        ("alexnet_ddp_level1_text", (0, 1)),
        ("alexnet_ddp_level1_db", (0, 1)),
        ("alexnet_ddp_level1_text/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT", (1,)),
        ("alexnet_ddp_level1_text/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", (0,)),
        ("alexnet_ddp_level1_text/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", (0,)),
        ("alexnet_ddp_level1_db/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_1.db", (1,)),
    ],
)
def test_what_it_may_be_given(path: str, ranks: tuple[int, ...]) -> None:
    with recorded_trace("ascend", path) as trace:
        assert trace.ranks == ranks
        assert {recording.reader for recording in trace.recordings.values()} == {"ascend"}
        assert trace.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute'") == 187 * len(ranks)


def test_folders_may_be_called_anything(tmp_path: Path) -> None:
    for name, rank in (("left", 0), ("right one", 1)):
        shutil.copytree(shared("ascend", f"alexnet_ddp_level0_text/rank{rank}_ascend_pt"), tmp_path / name)
    with open_fresh(tmp_path) as trace:
        assert trace.ranks == (0, 1)


@pytest.mark.parametrize("seed", series(range(12), 2))
def test_damage_never_gives_more_than_a_sentence(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    folder = tmp_path / "some_ascend_pt"
    shutil.copytree(shared("ascend", chosen.choice(RANKS)), folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    for path in chosen.sample(files, chosen.randint(1, len(files))):
        _damage(path, chosen)
    try:
        with open_fresh(folder) as trace:
            check_invariants(trace)
            check_splits(trace)
            check_report(trace)
    except StepscopeError as error:
        _check_sentence(error)


def _check_sentence(error: StepscopeError) -> None:
    assert error.hint
    assert "\n" not in error.message


def _damage(path: Path, chosen: random.Random) -> None:
    data = bytearray(path.read_bytes())
    position = chosen.randrange(len(data))
    match chosen.choice(_DAMAGES):
        case "cut":
            del data[position:]
        case "noise":
            for _ in range(30):
                data[chosen.randrange(len(data))] = chosen.randrange(256)
        case "hole":
            del data[position : position + 3000]
        case "zeros":
            end = min(len(data), position + 4096)
            data[position:end] = bytes(end - position)
        case "empty":
            data.clear()
        case "missing":
            path.unlink()
            return
    path.write_bytes(bytes(data))
