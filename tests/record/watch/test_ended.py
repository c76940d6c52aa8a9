"""What ended processes of a watched job leave is bounded, and counted no longer where others go on in their place."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from stepscope.record.ring.reader import rings_in
from stepscope.record.ring.writer import RingWriter
from stepscope.record.triggers.request import claim
from stepscope.record.triggers.trigger import Trigger
from stepscope.record.watching import ended
from stepscope.record.watching.summary import watched

GONE = 1 << 23  # more than Linux gives


def ring(folder: Path, name: str, pid: int, since: int, rank: int = 0, host: str = "") -> None:
    about = {"pid": pid, "host": host or socket.gethostname(), "rank": rank, "world_size": 2, "since_unix_ns": since}
    RingWriter(folder / f"{name}.ring", about, steps=4)


def names(folder: Path) -> list[str]:
    return sorted(one.path.stem for one in rings_in(folder))


def test_the_oldest_rings_of_ended_processes_go(tmp_path: Path) -> None:
    ring(tmp_path, "runs", os.getpid(), 0)
    ring(tmp_path, "elsewhere", GONE, 0, host="other")
    for number in range(ended.RINGS + 2):
        ring(tmp_path, f"gone{number:02}", GONE + number, number)
    ended.remove_ended(rings_in(tmp_path))
    assert names(tmp_path) == ["elsewhere", *(f"gone{one:02}" for one in range(2, ended.RINGS + 2)), "runs"]


def test_the_oldest_samples_of_ended_launchers_go(tmp_path: Path) -> None:
    host = socket.gethostname().split(".")[0]
    for number, pid in enumerate([os.getpid(), *range(GONE, GONE + ended.SAMPLES + 2)]):
        path = tmp_path / f"{host}_{pid}.machine.jsonl"
        path.touch()
        os.utime(path, (number, number))
    ended.remove_samples(tmp_path)
    left = sorted(int(one.name.partition(".")[0].rpartition("_")[2]) for one in tmp_path.iterdir())
    assert left == [os.getpid(), *range(GONE + 2, GONE + ended.SAMPLES + 2)]


def test_a_rank_that_another_process_has_taken_over_is_no_longer_told_of(tmp_path: Path) -> None:
    ring(tmp_path, "first", GONE, 10)
    ring(tmp_path, "second", GONE + 1, 20)
    ring(tmp_path, "beside", GONE, 10, rank=1)
    assert sorted(one.path.stem for one in ended.not_replaced(rings_in(tmp_path))) == ["beside", "second"]


def test_what_lay_there_before_is_not_told_of_at_the_end(tmp_path: Path) -> None:
    for at in (1_700_000_000_000_000_000, 1_800_000_000_000_000_000):
        assert claim(tmp_path, Trigger("signal", at), 0, "") is not None
    before, now = sorted(tmp_path.glob("*-signal"))
    said = watched(tmp_path, [], {before})
    assert [line.partition(":")[0] for line in said[1:]] == [now.name]
