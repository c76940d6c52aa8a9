"""Which runs there are below a folder."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from stepscope.simulate import SimJob, simulate
from stepscope.web.runs.finding import Finder, FoundRuns, Limits
from stepscope.web.runs.watching import Watching
from web.runs.recorded import recorded


def names(found: FoundRuns) -> dict[str, list[str]]:
    return {run.name: [path.name for path in run.paths] for run in found.runs}


def test_a_folder_with_recordings_is_a_run(tmp_path: Path) -> None:
    recorded(tmp_path / "top.json")
    recorded(tmp_path / "resnet" / "adam" / "host_7.1700000000000.pt.trace.json")
    recorded(tmp_path / "resnet" / "adam" / "host_8.1700000000000.pt.trace.json")
    (tmp_path / "resnet" / "events.out.tfevents.1").write_bytes(b"\x18\0\0\0")
    (tmp_path / "resnet" / "notes.json").write_text('{"lr": 1}')
    recorded(tmp_path / ".hidden" / "a.json")
    assert names(Finder(tmp_path).find()) == {
        ".": ["top.json"],
        "resnet/adam": ["host_7.1700000000000.pt.trace.json", "host_8.1700000000000.pt.trace.json"],
    }


def test_folders_of_ranks_are_of_one_run(tmp_path: Path) -> None:
    for rank in range(2):
        recorded(tmp_path / "job" / f"rank_{rank}" / "trace.json", rank)
    recorded(tmp_path / "job2" / "trace.json")
    assert names(Finder(tmp_path).find()) == {"job": ["trace.json", "trace.json"], "job2": ["trace.json"]}


def test_a_folder_that_is_one_recording(tmp_path: Path) -> None:
    simulate(SimJob(steps=1, layers=1, device="ascend910b3"), tmp_path / "job", "ascend")
    (run,) = Finder(tmp_path).find().runs
    assert run.name == "job"
    assert [path.is_dir() for path in run.paths] == [True]


def test_a_broken_one_is_listed_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "host_7.1700000000000.pt.trace.json").write_text("cut off")
    (tmp_path / "other.json").write_text("cut off")
    assert names(Finder(tmp_path).find()) == {".": ["host_7.1700000000000.pt.trace.json"]}


def test_new_changed_and_removed_ones(tmp_path: Path) -> None:
    finder = Finder(tmp_path)
    first = recorded(tmp_path / "a" / "one.json")
    (run,) = finder.find().runs
    assert finder.find().runs == (run,)
    os.utime(first, ns=(5, run.changed + 7))
    (changed,) = finder.find().runs
    assert (changed.key, changed.changed) == (run.key, run.changed + 7)
    assert changed.stamp != run.stamp
    recorded(tmp_path / "b" / "one.json")
    assert [one.name for one in finder.find().runs] == ["a", "b"]
    first.write_text("no recording any more")
    assert [one.name for one in finder.find().runs] == ["b"]


def test_limits_of_depth_entries_and_runs(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/b", "d"):
        recorded(tmp_path / name / "one.json")
    whole = Finder(tmp_path).find()
    assert ([one.name for one in whole.runs], whole.more) == (["a/b", "a/b/c", "d"], False)
    shallow = Finder(tmp_path, Limits(depth=2)).find()
    assert ([one.name for one in shallow.runs], shallow.more) == (["a/b", "d"], True)
    few = Finder(tmp_path, Limits(entries=3)).find()
    assert ([one.name for one in few.runs], few.more) == (["d"], True)
    one = Finder(tmp_path, Limits(runs=1)).find()
    assert ([run.name for run in one.runs], one.more) == (["a/b"], True)


def test_links_in_circles_end(tmp_path: Path) -> None:
    recorded(tmp_path / "a" / "one.json")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a" / "nowhere.json").symlink_to(tmp_path / "missing")
    assert names(Finder(tmp_path).find()) == {"a": ["one.json"]}


def test_no_folder_has_no_runs(tmp_path: Path) -> None:
    assert Finder(None).find() == FoundRuns()
    assert Finder(tmp_path / "missing").find() == FoundRuns()


class Slow(Finder):
    """A search that takes until it is let go."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.go = threading.Event()
        self.times = 0

    def find(self) -> FoundRuns:
        assert self.go.wait(20)
        self.times += 1
        return super().find()


def test_nobody_waits_for_a_search(tmp_path: Path) -> None:
    recorded(tmp_path / "a" / "one.json")
    finder = Slow(tmp_path)
    watching = Watching(finder)
    assert watching.found(0.01) == FoundRuns()
    finder.go.set()
    (run,) = watching.found(20).runs
    assert watching.run(run.key) == run
    assert watching.run("0" * 16) is None
    assert finder.times == 1, "what was just found is not searched for again"


def test_a_search_that_fails_leaves_what_was_found(tmp_path: Path) -> None:
    recorded(tmp_path / "a" / "one.json")
    finder = Slow(tmp_path)
    finder.go.set()
    watching = Watching(finder, fresh=0)
    before = watching.found(20)
    finder.limits = None  # type: ignore[assignment]
    assert watching.found(20) == before
    assert len(before.runs) == 1
