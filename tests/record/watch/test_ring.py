"""Rings of steps: bounded, readable while they are written, and after the process is gone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stepscope.record.ring.layout import HAPPENED, RingStep, size
from stepscope.record.ring.reader import read_ring, rings_in
from stepscope.record.ring.writer import RingWriter

ABOUT = {"pid": os.getpid(), "host": os.uname().nodename, "rank": 2, "world_size": 4}


def step(number: int) -> RingStep:
    return RingStep(number, 1_000 * number, 10 + number, 3, 1 << 20, 1 << 30, recorded=number % 2 == 1)


def add(ring: RingWriter, one: RingStep, now: int) -> None:
    ring.add(
        one.number, one.end_unix_ns, one.length_ns, one.wait_ns, one.device_bytes, one.host_bytes, one.recorded, now
    )  # fmt: skip


@pytest.mark.parametrize("steps", [0, 1, 7, 8, 9, 15, 16, 17, 40])
@pytest.mark.parametrize("between", [0, 1 << 60])
def test_the_last_steps_are_kept_in_order(steps: int, between: int, tmp_path: Path) -> None:
    """Written one by one, or all at once."""
    ring = RingWriter(tmp_path / "one.ring", ABOUT, steps=8, between_ns=between)
    for number in range(steps):
        add(ring, step(number), 1)
    ring.flush()
    found = read_ring(tmp_path / "one.ring")
    assert found.steps == tuple(step(number) for number in range(max(0, steps - 8), steps))
    assert (found.count, found.wait_ns, found.rank) == (steps, 3 * steps, 2)
    assert found.length_ns == sum(10 + number for number in range(steps))
    assert read_ring(tmp_path / "one.ring", 3).steps == found.steps[-3:]
    assert (tmp_path / "one.ring").stat().st_size == size(8)


def test_what_happened_is_kept_whatever_becomes_of_recordings(tmp_path: Path) -> None:
    ring = RingWriter(tmp_path / "one.ring", ABOUT, steps=8)
    for number in range(HAPPENED + 2):
        ring.happened({"what": "recorded", "folder": f"f{number}", "unix_ns": number})
    ring.happened({"what": "recorded", "folder": "f" * 600, "unix_ns": 7})
    found = read_ring(tmp_path / "one.ring")
    assert [one.get("folder") for one in found.happened] == [*(f"f{one}" for one in range(3, HAPPENED + 2)), None]
    assert found.happened[-1] == {"what": "recorded", "unix_ns": 7}
    assert found.recordings == HAPPENED + 3
    assert (tmp_path / "one.ring").stat().st_size == size(8)


def test_a_step_that_is_overwritten_while_it_is_read_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "one.ring"
    ring = RingWriter(path, ABOUT, steps=8)
    for number in range(8):
        add(ring, step(number), 0)
    ring.flush()
    before = path.read_bytes()
    for number in range(8, 11):
        add(ring, step(number), 0)
    ring.flush()
    # A head that does not count yet what lies behind it.
    path.write_bytes(before[:200] + path.read_bytes()[200:])
    assert [one.number for one in read_ring(path).steps] == [3, 4, 5, 6, 7]


def test_files_that_are_no_rings_are_left_out(tmp_path: Path) -> None:
    RingWriter(tmp_path / "b.ring", ABOUT, steps=8)
    whole = (tmp_path / "b.ring").read_bytes()
    for name, data in {
        "empty": b"",
        "cut": whole[:-1],
        "other": b"X" + whole[1:],
        "new": whole[:8] + b"\2" + whole[9:],
    }.items():
        (tmp_path / f"{name}.ring").write_bytes(data)
        with pytest.raises(ValueError, match="ring"):
            read_ring(tmp_path / f"{name}.ring")
    assert [one.path.name for one in rings_in(tmp_path)] == ["b.ring"]
    assert rings_in(tmp_path / "nowhere") == []


def test_a_long_description_is_cut_to_what_readers_need(tmp_path: Path) -> None:
    RingWriter(tmp_path / "one.ring", {**ABOUT, "program": "x" * 5000}, steps=8)
    assert read_ring(tmp_path / "one.ring").about == ABOUT


def test_a_ring_that_is_gone_is_an_error_of_the_system_alone(tmp_path: Path) -> None:
    ring = RingWriter(tmp_path / "one.ring", ABOUT, steps=8)
    (tmp_path / "one.ring").unlink()
    with pytest.raises(FileNotFoundError):
        ring.flush()
    assert not (tmp_path / "one.ring").exists()
