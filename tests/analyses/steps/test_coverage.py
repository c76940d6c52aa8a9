"""What the recording covers: parts that add up to all of it."""

from __future__ import annotations

from stepscope.analyses.steps.coverage import coverage
from support import Facts

MS = 1_000_000


def parts(f: Facts) -> dict[str, tuple[object, ...]]:
    rows = coverage(f.trace()).records()
    return {
        row["part"]: tuple(row[name] for name in ("count", "total_ns", "busy_ns", "call", "call_ns")) for row in rows
    }


def test_steps_by_their_role_and_what_lies_around_them() -> None:
    f = Facts()
    f.host("runtime", "cudaMalloc", 0, 30 * MS)
    for number, start, end in ((0, 40, 90), (1, 90, 100), (2, 100, 110), (3, 115, 125)):
        f.step(number, start * MS, (end - start) * MS)
        f.kernel("k", start * MS + 4000, 2 * MS, launch=(start * MS, 2000))
    f.host("op", "save", 130 * MS, 20 * MS)
    found = parts(f)
    assert found == {
        "start-up": (0, 40 * MS, 0, "cudaMalloc", 30 * MS),
        "warm-up": (1, 50 * MS, 2 * MS, None, None),
        "typical": (3, 30 * MS, 6 * MS, None, None),
        "between": (0, 5 * MS, 0, None, None),
        "after": (0, 25 * MS, 0, "save", 20 * MS),  # no call, but an operator that takes most of it
    }
    assert sum(part[1] for part in found.values()) == 150 * MS  # type: ignore[misc]


def test_without_steps_the_time_in_which_the_device_is_in_use_stands_apart() -> None:
    f = Facts()
    f.host("runtime", "cudaMalloc", 0, 30 * MS)
    f.kernel("a", 40 * MS, MS, launch=(39 * MS, 2000))
    f.kernel("b", 49 * MS, MS, launch=(48 * MS, 2000))
    assert {part: row[:3] for part, row in parts(f).items()} == {
        "start-up": (0, 40 * MS, 0),
        "in use": (0, 10 * MS, 2 * MS),
    }


def test_a_loader_that_takes_most_of_the_start_is_named() -> None:
    f = Facts()
    f.host("dataloader", "enumerate(DataLoader)#_X.__next__", 0, 60 * MS)
    f.kernel("a", 100 * MS, MS, launch=(99 * MS, 2000))
    f.kernel("b", 109 * MS, MS, launch=(108 * MS, 2000))
    assert parts(f)["start-up"][3:] == ("enumerate(DataLoader)#_X.__next__", 60 * MS)


def test_of_nested_ranges_the_innermost_that_takes_half_is_named() -> None:
    f = Facts()
    f.host("annotation", "load everything", 0, 90 * MS)
    f.host("annotation", "read weights", 10 * MS, 60 * MS)
    f.host("op", "aten::copy_", 10 * MS, 30 * MS)
    f.kernel("a", 100 * MS, MS, launch=(99 * MS, 2000))
    f.kernel("b", 109 * MS, MS, launch=(108 * MS, 2000))
    assert parts(f)["start-up"][3:] == ("read weights", 60 * MS)


def test_a_call_counts_with_the_part_of_it_that_lies_there() -> None:
    f = Facts()
    f.host("runtime", "cudaMalloc", 0, 30 * MS)
    f.kernel("long", 40 * MS, 900 * MS, launch=(38 * MS, MS))
    f.host("sync", "cudaDeviceSynchronize", 39 * MS, 901 * MS)
    assert parts(f)["start-up"][3:] == ("cudaMalloc", 30 * MS)


def test_a_recording_of_the_host_alone_is_never_busy() -> None:
    f = Facts()
    f.host("op", "aten::mm", 0, 100)
    assert parts(f) == {"in use": (0, 100, 0, None, None)}


def test_a_call_of_the_system_tells_what_the_thread_that_feeds_the_device_waited_for() -> None:
    f = Facts()
    for number in range(3):
        f.step(number, (40 + 10 * number) * MS, 10 * MS)
        f.kernel("k", (41 + 10 * number) * MS, 2 * MS, launch=((40 + 10 * number) * MS, 2000))
    f.host("other", "getc", 1 * MS, 30 * MS)
    f.host("other", "poll", 0, 39 * MS, thread="other")
    assert parts(f)["start-up"][3:] == ("getc", 30 * MS)


def test_a_mark_that_was_never_closed_does_not_prolong_the_recording() -> None:
    f = Facts()
    f.kernel("a", 2 * MS, MS, launch=(MS, 2000))
    f.kernel("b", 8 * MS, MS, launch=(7 * MS, 2000))
    f.host("step", "ProfilerStep#1", 0, 13_000 * MS)
    trace = f.trace()
    assert sum(row["total_ns"] for row in coverage(trace).records()) == 9 * MS
    assert trace.scalar("SELECT count FROM health WHERE code = 'steps-open'") == 1


def test_a_mark_that_ends_with_a_long_pause_does() -> None:
    f = Facts()
    f.kernel("a", 2 * MS, MS, launch=(MS, 2000))
    f.kernel("b", 8 * MS, MS, launch=(7 * MS, 2000))
    f.host("annotation", "train", 0, 500 * MS)
    assert sum(part[1] for part in parts(f).values()) == 500 * MS  # type: ignore[misc]
