"""Traces of PyTorch, one file or one per rank, to be changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.kineto_json import Event, Timeline
from bench.recordings.variants.recording import NotApplicableError, Warp, Window
from bench.repeat import repeated
from stepscope.readers.kineto.vocabulary import ON_DEVICE, ON_DEVICE_PREFIX

Track = tuple[object, object]


def category(event: Event) -> str:
    """Of an event, in lower case."""
    return str(event.get("cat", "")).lower()


def on_device(event: Event) -> bool:
    """Whether an event lies on a queue of a device."""
    return category(event) in ON_DEVICE or category(event).startswith(ON_DEVICE_PREFIX)


def is_runtime(event: Event) -> bool:
    """Whether an event is a call of the device's runtime or driver."""
    return category(event).endswith(("runtime", "driver")) and event.get("ph") == "X"


def track(event: Event) -> Track:
    """Process and thread of an event."""
    return event.get("pid"), event.get("tid")


class KinetoRecording:
    """Files by name; the window is that of all ranks."""

    def __init__(self, source: Path) -> None:
        """Read a file, or the files of a folder."""
        paths = sorted(source.glob("**/*.json*")) if source.is_dir() else [source]
        self.files = {path.name.removesuffix(".gz"): Timeline.load(path) for path in paths}
        self.folder = source.is_dir()

    def window(self) -> Window:
        """From the first event to the last, spans of whole recordings aside."""
        events = [event for event in self.events() if category(event) != "trace" and event.get("ph") == "X"]
        return min(e["ts"] for e in events), max(e["ts"] + e.get("dur", 0) for e in events)

    def steps(self) -> list[Window]:
        """What `prof.step()` marks on the host of the first rank."""
        timeline = next(iter(self.files.values()))
        return sorted((e["ts"], e["ts"] + e["dur"]) for e in timeline.timed if is_mark(e) and not on_device(e))

    def events(self) -> Iterator[Event]:
        """Those with a time, of all files."""
        for timeline in self.files.values():
            yield from timeline.timed

    def warp(self, host: Warp, device: Warp) -> None:
        """Move events, with the flows of the tracks that they lie on."""
        for timeline in self.files.values():
            queues = {track(event) for event in timeline.timed if on_device(event)}
            for event in timeline.timed:
                warp = device if track(event) in queues else host
                start = event["ts"]
                event["ts"] = warp(start)
                if "dur" in event:
                    event["dur"] = max(0, warp(start + event["dur"]) - event["ts"])

    def cut(self, start: int, end: int) -> None:
        """Drop what starts outside; work that was launched inside is written though it runs later."""
        for timeline in self.files.values():
            inside = {
                correlation(event) for event in timeline.timed if is_runtime(event) and start <= event["ts"] < end
            }
            timeline.events = [
                clipped
                for event in timeline.events
                if (clipped := _clipped(event, start, end, correlation(event) in inside)) is not None
            ]

    def repeat(self, times: int) -> None:
        """Record the whole job so many times."""
        self.files = {name: repeated(timeline, times) for name, timeline in self.files.items()}

    def keep(self, wanted: Iterator[bool]) -> None:
        """Keep the events that are wanted, one answer per event of each file in order."""
        dropped = False
        for timeline in self.files.values():
            kept = [event for event in timeline.events if next(wanted)]
            dropped |= len(kept) < len(timeline.events)
            timeline.events = kept
        if not dropped:
            raise NotApplicableError

    def save(self, folder: Path) -> Path:
        """Write uncompressed JSON."""
        for name, timeline in self.files.items():
            timeline.save(folder / name)
        return folder if self.folder else folder / next(iter(self.files))

    def close(self) -> None:
        """Nothing is open."""


def correlation(event: Event) -> object:
    """What ties a launch to its work; None without."""
    args = event.get("args") or {}
    return args.get("correlation", args.get("External id"))


def is_mark(event: Event) -> bool:
    """Whether an event is a step that `prof.step()` marked."""
    return event.get("ph") == "X" and str(event.get("name")).startswith("ProfilerStep")


def _clipped(event: Event, start: int, end: int, launched: bool) -> Event | None:
    if event.get("ph") == "M" or "ts" not in event:
        return event
    last = event["ts"] + event.get("dur", 0)
    if category(event) == "trace":
        first = max(start, event["ts"])
        return {**event, "ts": first, "dur": max(0, min(end, last) - first)} if event.get("ph") == "X" else event
    if on_device(event):
        return event if event["ts"] >= start and (event["ts"] < end or launched) else None
    if not start <= event["ts"] < end:
        return None
    return {**event, "dur": min(end, last) - event["ts"]} if "dur" in event else event
