"""What has a watched job record: slow steps, memory, ranks, requests; and what it does not."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from stepscope.record.ring.layout import RingStep
from stepscope.record.ring.reader import Ring
from stepscope.record.triggers.jumps import MemoryJumps
from stepscope.record.triggers.keeping import keep, recordings_in
from stepscope.record.triggers.request import REASON, RecordingRequest, claim
from stepscope.record.triggers.slow import SlowStepFinder
from stepscope.record.triggers.trigger import Trigger
from stepscope.record.watching.apart import ranks_apart

NOW = 1_800_000_000_000_000_000


def slow(lengths: list[int], factor: float = 1.5) -> list[int]:
    """Places of the steps that are slow."""
    found = SlowStepFinder(factor)
    return [place for place, length in enumerate(lengths) if found.is_slow(length)]


@pytest.mark.parametrize(
    ("lengths", "places"),
    [
        ([100] * 30 + [151] + [100] * 30, [30]),
        ([100] * 30 + [150] + [100] * 30, []),  # just misses
        ([100] * 14 + [900], []),  # too few before
        ([100] * 15 + [900], [15]),
        ([900] + [100] * 20 + [160], [21]),  # the first step is no measure
        (([100] * 9 + [300]) * 12, [19, 29]),  # evaluation: from the fourth one on it is usual
        (([100] * 9 + [300]) * 12 + [100, 900], [19, 29, 121]),
        ([100] * 30 + [300] * 60, [30, 31, 32]),  # another regime is told, and then is usual
        ([100, 400] * 30, []),  # two kinds of steps
        ([100] * 30 + [0, 0, 101], []),
    ],
)
def test_steps_that_are_slow(lengths: list[int], places: list[int]) -> None:
    assert slow(lengths) == places
    assert slow(lengths, 0.0) == []


def test_slow_steps_among_noise() -> None:
    draw = random.Random(4)
    lengths = [int(1000 * draw.lognormvariate(0, 0.08)) for _ in range(2000)]
    planted = sorted(draw.sample(range(50, 2000, 40), 20))
    for place in planted:
        lengths[place] *= 2
    assert slow(lengths) == planted


def test_memory_that_jumps() -> None:
    jumps = MemoryJumps(0.25, 100)
    grows = [jumps.jumped_from(size) for size in range(1000, 3000, 50)]
    assert set(grows) == {0}
    assert jumps.jumped_from(3686) == 0  # 2,950 and a quarter
    assert jumps.jumped_from(4608) == 3686
    assert jumps.jumped_from(4608) == jumps.jumped_from(1000) == jumps.jumped_from(4608) == 0
    small = MemoryJumps(0.25, 100)
    assert [small.jumped_from(size) for size in [10] * 20 + [109]] == [0] * 21  # a quarter of little is little
    first = MemoryJumps(0.25, 100)
    assert [first.jumped_from(size) for size in (10, 500, 5000)] == [0, 0, 0]
    assert MemoryJumps(0.0, 0).jumped_from(5) == 0


def test_memory_that_the_profiler_took_is_no_jump() -> None:
    jumps = MemoryJumps(0.25, 100)
    assert [jumps.jumped_from(1000) for _ in range(10)] == [0] * 10
    jumps.rose_to(5000)
    assert jumps.jumped_from(5000) == jumps.jumped_from(6000) == 0
    assert jumps.jumped_from(7600) == 6000


def ring(rank: int, ends: list[int], host: str = "a", recorded: tuple[int, ...] = ()) -> Ring:
    steps = tuple(RingStep(n, end, 1000, recorded=n in recorded) for n, end in enumerate(ends))
    return Ring(Path(), {"rank": rank, "world_size": 2, "host": host}, len(ends), 0, 0, 0, 0, 0, 0, steps)


def test_ranks_that_are_apart() -> None:
    even = [1000 * n for n in range(30)]
    late = [end + 30 for end in even[:25]] + [end + 600 for end in even[25:]]
    trigger = ranks_apart([ring(0, even), ring(1, late)])
    assert trigger is not None
    assert (trigger.rank, trigger.step, trigger.value, trigger.usual, trigger.of) == (1, 29, 600, 30, "rank 0")
    once = [end + 30 for end in even[:28]] + [even[28] + 600, even[29] + 30]
    always = [end + 600 for end in even]
    just = [end + 30 for end in even[:25]] + [end + 500 for end in even[25:]]
    for others in (
        [ring(1, once)], [ring(1, always)], [ring(1, just)], [], [ring(1, late[:24])], [ring(1, late, host="b")],
        [ring(0, late)], [ring(1, late, recorded=tuple(range(25, 30)))],
    ):  # fmt: skip
        assert ranks_apart([ring(0, even), *others]) is None


@pytest.mark.parametrize(
    ("trigger", "said"),
    [
        (Trigger("slow step", NOW, 3, 8, 1234, 812_000_000, 208_000_000),
         "recorded because step 1,234 of rank 3 took 812.0 ms, 3.9 times the usual 208.0 ms (2027-01-15 08:00:00 UTC)"),
        (Trigger("memory jump", NOW, 0, 1, 7, 3 << 30, 1 << 30, "device"),
         "recorded because the device's memory in use rose to 3,072 MiB, from at most 1,024 MiB before (step 7)"
         " (2027-01-15 08:00:00 UTC)"),
        (Trigger("ranks apart", NOW, 3, 8, 9, 20_000_000_000, 1_000_000, "rank 0"),
         "recorded because rank 3 ended step 9 20.0 s after rank 0, where 1.0 ms are usual (2027-01-15 08:00:00 UTC)"),
        (Trigger("signal", NOW), "recorded because a signal asked for it (2027-01-15 08:00:00 UTC)"),
        (Trigger("unheard of", NOW), "recorded because it was asked for (2027-01-15 08:00:00 UTC)"),
    ],
)  # fmt: skip
def test_reasons_in_words(trigger: Trigger, said: str) -> None:
    assert trigger.sentence() == said
    assert Trigger.of_values(json.loads(json.dumps(trigger.values()))) == trigger


@pytest.mark.parametrize(
    "values", [None, [], {}, {"what": 3}, {"what": "signal", "rank": "0"}, {"what": "signal", "unix_ns": 1 << 70}]
)
def test_reasons_that_cant_be_read(values: object) -> None:
    with pytest.raises(ValueError, match="reason"):
        Trigger.of_values(values)


def seen(step: int, value: int = 300, what: str = "slow step", ago_s: float = 0) -> Trigger:
    return Trigger(what, time.time_ns() - int(ago_s * 1e9), 0, 2, step, value, 100)


def test_recordings_of_the_same_second_are_kept_by_time(tmp_path: Path) -> None:
    names = [f"20261124-113217-{name}" for name in ("slow-step-step-80", "file-step-121", "file-step-1000")]
    for at, name in enumerate(["20261124-113216-signal", *names]):
        (tmp_path / name).mkdir()
        (tmp_path / name / REASON).touch()
        os.utime(tmp_path / name / REASON, ns=(at, at))
    assert [one.name for one in keep(tmp_path, 2, 1 << 30)] == ["20261124-113216-signal", names[0]]
    assert [one.name for one in recordings_in(tmp_path)] == names[1:]


def test_what_all_ranks_see_is_recorded_once(tmp_path: Path) -> None:
    first = claim(tmp_path, seen(4), 60, "")
    second = claim(tmp_path, seen(5), 60, "")
    assert first == second is not None
    assert [one.name for one in recordings_in(tmp_path)] == [Path(first.folder).name]
    assert first.folder.endswith("-slow-step-step-4")


def test_what_all_ranks_are_asked_for_goes_nowhere_else(tmp_path: Path) -> None:
    """Others may have the right to write into the folder of recordings."""
    output = tmp_path / "out"
    (output / ".watch").mkdir(parents=True)
    RecordingRequest("/etc/../elsewhere/a", seen(4)).write(output / ".watch" / "asked.json")
    joined = claim(output, seen(5), 60, "")
    assert joined is not None
    assert joined.folder == str(output / "a")
    for folder in ("", "/", "..", "a/.."):
        RecordingRequest(folder, seen(4)).write(output / ".watch" / "asked.json")
        assert RecordingRequest.read_within(output) is None


def test_within_a_pause_only_what_is_asked_for_or_far_worse_is_recorded_from_the_fourth_on(tmp_path: Path) -> None:
    first = None
    for step in (4, 5, 6):
        first = claim(tmp_path, seen(step), 60, first.folder if first else "")
        assert first is not None
        assert first.folder.endswith(f"-step-{step}")
    assert claim(tmp_path, seen(9), 60, first.folder) is None
    assert claim(tmp_path, seen(9, 500), 60, first.folder) is None
    worse = claim(tmp_path, seen(9, 501), 60, first.folder)
    asked = claim(tmp_path, seen(9, what="file"), 60, worse.folder if worse else "")
    assert len({one.folder for one in (first, worse, asked) if one}) == 3
    assert claim(tmp_path, seen(9), 0, asked.folder if asked else "") is not None


def test_a_pause_ends(tmp_path: Path) -> None:
    folder = ""
    for step, ago_s, recorded in (
        (4, 61, True),
        (5, 59, True),
        (6, 58, True),
        (7, 57, True),
        (8, 56, False),
        (9, 0, False),
    ):
        made = claim(tmp_path, seen(step, ago_s=ago_s), 60, folder)
        assert (made is not None) is recorded, step
        folder = made.folder if made else folder


def test_requests_are_for_this_user_alone_and_broken_ones_are_none(tmp_path: Path) -> None:
    path = tmp_path / "1.ask"
    RecordingRequest("to", seen(1), 3, {"stacks": False}).write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    found = RecordingRequest.read(path)
    assert found is not None
    assert (found.folder, found.steps, found.options) == ("to", 3, {"stacks": False})
    for text in ("", "{", "[]", '{"folder": 3}', '{"folder": "a"}', '{"folder": "a", "trigger": {"what": []}}'):
        path.write_text(text)
        assert RecordingRequest.read(path) is None
    path.write_text('{"folder": "a", "trigger": {"what": "slow step"}, "earlier": null}')
    assert RecordingRequest.read(path) is None
    assert RecordingRequest.read(tmp_path / "none") is None


def test_recordings_stay_within_number_and_size(tmp_path: Path) -> None:
    for number in range(6):
        folder = tmp_path / f"2026010{number}-slow-step"
        folder.mkdir()
        (folder / REASON).touch()
        (folder / "trace.json").write_bytes(bytes(1000))
    (tmp_path / "mine").mkdir()
    assert [one.name[:8] for one in keep(tmp_path, 4, 10_000)] == ["20260100", "20260101"]
    assert [one.name[:8] for one in keep(tmp_path, 4, 2_000)] == ["20260102", "20260103"]
    assert [one.name[:8] for one in keep(tmp_path, 4, 10)] == ["20260104"]
    assert keep(tmp_path, 4, 10) == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["20260105-slow-step", "mine"]
