"""What a track of the timeline is, and the words that its entries are coloured by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from stepscope.analyses.idle.causes import CAUSES
from stepscope.model.categories import CATEGORIES
from stepscope.model.kernel_names import OP_CLASSES

#: What an entry is coloured by: the category of its event, of compute kernels the class.
KINDS: Final = (*CATEGORIES, *(f"kernel:{name}" for name in OP_CLASSES))
#: What a device's time is split into; idle time by cause.
SHARES: Final = (
    "computing",
    "exposed communication",
    "exposed copy",
    *(f"idle: {cause}" + (f", {detail}" if detail else "") for cause, detail in CAUSES),
)

#: How a track is drawn: rows of events, shares of a device's time, or a line.
Form = Literal["events", "shares", "line"]
#: Where its rows come from.
Source = Literal["steps", "time", "thread", "queue", "marks", "group", "copies", "counter", "memory"]
#: Layers of a host thread with their categories. Every category that threads have is in exactly one.
LAYERS: Final[dict[str, tuple[str, ...]]] = {
    "python": ("python", "module", "gc"),
    "framework": ("step", "annotation", "op", "dataloader", "kernel", "collective", "copy", "set"),
    "api": ("runtime", "sync", "launch", "queue"),
    "other": ("overhead", "other"),
}
#: Categories that device queues show apart from their work: ranges of the program, seen on the device.
MARKS: Final = ("step", "annotation", "module")


@dataclass(frozen=True, slots=True)
class TimelineTrack:
    """A track of the timeline.

    Attributes:
        rank: Rank.
        section: What it is listed under within its rank.
        label: Name to show.
        form: How it is drawn.
        source: Where its rows come from.
        track: Thread, queue or counter track; -1 for others.
        device: Device index; None if not recorded, and for host tracks.
        part: Layer of a thread, name of a counter, group of collectives, column of `memory`; else empty.
        events: Number of events, or samples; 0 for shares.
        process: What several threads or counters of the section have in common.
    """

    rank: int
    section: str
    label: str
    form: Form
    source: Source
    track: int = -1
    device: int | None = None
    part: str = ""
    events: int = 0
    process: str = ""

    def holds(self, category: str) -> bool:
        """Whether events of a category of its thread or queue are drawn in it."""
        if self.source == "thread":
            return category in LAYERS[self.part]
        return self.source == ("marks" if category in MARKS else "queue")

    def to_json(self, index: int) -> dict[str, Any]:
        """What a page needs to know."""
        shown = ("rank", "section", "label", "form", "source", "track", "device", "part", "events", "process")
        return {"index": index, **{name: getattr(self, name) for name in shown}}
