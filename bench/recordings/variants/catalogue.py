"""Every variant: what it does, and what may become of the diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from bench.recordings.variants import naming, stripping, timing
from bench.recordings.variants.ascend import AscendRecording
from bench.recordings.variants.kineto import KinetoRecording
from bench.recordings.variants.nsight import NsightRecording
from bench.recordings.variants.recording import Recording
from bench.recordings.variants.snapshot import SnapshotRecording


class Keeps(Enum):
    """What a variant leaves of a diagnosis."""

    ALL = "every finding, at the same share of the step"
    EVIDENCE = "the first finding, near its share of the step, and the steps"
    SOME = "the first finding or silence, and the steps if they are still there"
    PART = "a finding that the whole recording has, or silence"


@dataclass(frozen=True, slots=True)
class Variant:
    """A change of recordings; `times` is by how much the number of steps grows."""

    name: str
    change: Callable[[Recording], None]
    keeps: Keeps
    times: int = 1


def variants() -> Iterator[Variant]:
    """All, in the order of the documentation."""
    for name, start, end in (
        ("first half", 0, 0.5), ("second half", 0.5, 1), ("middle two thirds", 1 / 6, 5 / 6),
        ("without the last tenth", 0, 0.9),
    ):  # fmt: skip
        yield Variant(name, timing.part(start, end), Keeps.PART)
    yield Variant("from within a step", timing.from_within_a_step, Keeps.PART)
    yield Variant("one marked step", timing.one_step(True), Keeps.PART)
    yield Variant("one step without its mark", timing.one_step(False), Keeps.PART)
    for stripped in (stripping.PYTORCH, stripping.NSIGHT, stripping.ASCEND, stripping.SNAPSHOT):
        for name, change in stripped.items():
            yield Variant(name, change, Keeps.SOME)
    for name, change in stripping.LOST.items():
        yield Variant(name, change, Keeps.PART)
    yield Variant("in microseconds", timing.in_microseconds, Keeps.EVIDENCE)
    yield Variant("ten days later", timing.shifted, Keeps.ALL)
    for microseconds in (-80, -20, 20, 80):
        yield Variant(f"device {microseconds:+d} µs", timing.device_clock(microseconds), Keeps.EVIDENCE)
    yield Variant("device +2 ms", timing.device_clock(2000), Keeps.EVIDENCE)
    yield Variant("device drifts by 50 ppm", timing.device_drift, Keeps.EVIDENCE)
    yield Variant("other names of ranges", naming.other_ranges, Keeps.EVIDENCE)
    for name, change in naming.NAMES.items():
        yield Variant(name, change, Keeps.ALL)
    yield Variant("three times", timing.three_times, Keeps.EVIDENCE, times=3)
    yield Variant("first step 4 times as long", timing.long_step(0), Keeps.EVIDENCE)
    yield Variant("a step 2 times as long", timing.long_step(2), Keeps.EVIDENCE)
    yield Variant("idle before and after", timing.idle_around, Keeps.EVIDENCE)
    yield Variant("all times x 1.3", timing.slower, Keeps.EVIDENCE)


def load(source: Path, place: Path) -> Recording:
    """A labelled recording, by the format that it has; what can't be in memory is copied into a folder."""
    if source.suffix == ".sqlite":
        return NsightRecording(source, place)
    if "ascend" in source.parts:
        return AscendRecording(source, place)
    if "memory" in source.parts:
        return SnapshotRecording(source)
    return KinetoRecording(source)
